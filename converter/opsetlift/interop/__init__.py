"""Other libraries' interfaces to a conversion. Each module needs the library of its name; nothing else imports it."""
