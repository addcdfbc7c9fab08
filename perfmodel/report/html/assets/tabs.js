// Tabs by the ARIA authoring practices: arrow keys, Home and End move, and the tab that has the focus is shown.
// Without this script all parts stand one below the other.
(function () {
  "use strict";
  const list = document.querySelector("[role=tablist]");
  const tabs = Array.from(list.querySelectorAll("[role=tab]"));
  const panel = (tab) => document.getElementById(tab.getAttribute("aria-controls"));

  function select(tab, focus) {
    for (const one of tabs) {
      const chosen = one === tab;
      one.setAttribute("aria-selected", String(chosen));
      one.tabIndex = chosen ? 0 : -1;
      panel(one).hidden = !chosen;
    }
    if (focus) tab.focus();
    history.replaceState(null, "", "#" + panel(tab).id);
    panel(tab).dispatchEvent(new CustomEvent("shown", { bubbles: true }));
  }

  function named(hash) {
    return tabs.find((tab) => "#" + panel(tab).id === hash);
  }

  for (const tab of tabs) {
    const own = panel(tab);
    own.setAttribute("role", "tabpanel");
    own.setAttribute("aria-labelledby", tab.id);
    own.tabIndex = 0;
    tab.addEventListener("click", () => select(tab, false));
  }
  list.addEventListener("keydown", (event) => {
    const place = tabs.indexOf(document.activeElement);
    const goals = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 };
    if (place < 0 || !(event.key in goals) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    select(tabs[(goals[event.key] + tabs.length) % tabs.length], true);
  });
  window.addEventListener("hashchange", () => {
    const tab = named(location.hash);
    if (tab) select(tab, false);
  });
  list.hidden = false;
  const first = named(location.hash) || tabs[0];
  window.addEventListener("load", () => select(first, false));
})();
