"""What a rule is, what it is given (the `Site`), where rules are found, and the route of an operator's nodes through
them.
"""
