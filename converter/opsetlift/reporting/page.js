"use strict";
(() => {
  const search = document.getElementById("search");
  const operator = document.getElementById("operator");
  const count = document.getElementById("count");
  const items = Array.from(document.querySelectorAll("[data-operators]"));

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const operators = item.dataset.operators.split(" ");
      const text = item.textContent.toLowerCase();
      const fits = (!operator.value || operators.includes(operator.value)) && words.every((word) => text.includes(word));
      item.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${items.length} entries shown`;
  };

  const remember = () => {
    const query = new URLSearchParams();
    if (search.value) query.set("search", search.value);
    if (operator.value) query.set("operator", operator.value);
    const text = query.toString();
    try {
      history.replaceState(null, "", (text ? `?${text}` : location.pathname) + location.hash);
    } catch {
      // A page that was opened in a frame or a mail may not change its address.
    }
  };

  const follow = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const item = target.closest("[data-operators]");
    if (item && item.hidden) {
      search.value = operator.value = "";
      show();
      remember();
    }
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView();
  };

  if (search) {
    const query = new URLSearchParams(location.search);
    search.value = query.get("search") || "";
    operator.value = query.get("operator") || "";
    if (operator.selectedIndex < 0) operator.value = "";
    for (const control of [search, operator]) control.addEventListener("input", () => { show(); remember(); });
    show();
  }
  window.addEventListener("hashchange", follow);
  follow();
})();
