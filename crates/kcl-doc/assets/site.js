// The search, the switch between light and dark, and the menu of narrow screens. Pages work without it.
(function () {
  "use strict";
  var html = document.documentElement;
  try {
    var kept = localStorage.getItem("kcl-theme");
    if (kept) html.dataset.theme = kept;
  } catch (e) { /* no storage: the system's choice counts */ }
  var asked = new URLSearchParams(location.search).get("theme");
  if (asked === "light" || asked === "dark") html.dataset.theme = asked;

  document.addEventListener("DOMContentLoaded", function () {
    var root = document.body.dataset.root || "";
    var input = document.getElementById("search");
    var list = document.getElementById("results");
    var menu = document.getElementById("menu");
    var shown = [];
    var at = -1;

    document.getElementById("theme").addEventListener("click", function () {
      var dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      html.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("kcl-theme", html.dataset.theme); } catch (e) { /* not kept, then */ }
    });

    menu.addEventListener("click", function () {
      var open = document.body.classList.toggle("menu");
      menu.setAttribute("aria-expanded", String(open));
    });
    document.getElementById("nav").addEventListener("click", function (event) {
      if (event.target.tagName === "A") document.body.classList.remove("menu");
    });

    // Smaller is better; null is no match.
    function rank(row, words) {
      var name = row[0].toLowerCase();
      var last = name.slice(name.lastIndexOf(".") + 1);
      var total = 0;
      for (var i = 0; i < words.length; i++) {
        var word = words[i];
        var score;
        if (name === word || last === word) score = 0;
        else if (last.indexOf(word) === 0 || name.indexOf(word) === 0) score = 1;
        else if (name.indexOf(word) >= 0) score = 2;
        else if (row[2].toLowerCase().indexOf(word) >= 0) score = 4;
        else if (row[4].toLowerCase().indexOf(word) >= 0) score = 6;
        else return null;
        total += score * 10;
      }
      if (row[1] === "attribute") total += 3;
      return total + Math.min(name.length, 60) / 100;
    }

    function find(text) {
      var words = text.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length || !window.kclIndex) return [];
      var found = [];
      for (var i = 0; i < window.kclIndex.length; i++) {
        var score = rank(window.kclIndex[i], words);
        if (score !== null) found.push([score, i]);
      }
      found.sort(function (a, b) { return a[0] - b[0] || a[1] - b[1]; });
      return found.slice(0, 40).map(function (pair) { return window.kclIndex[pair[1]]; });
    }

    function span(name, text) {
      var node = document.createElement("span");
      node.className = name;
      node.textContent = text;
      return node;
    }

    // The part of a long text where the first word of the search stands.
    function around(text) {
      var word = input.value.toLowerCase().split(/\s+/).filter(Boolean)[0] || "";
      var found = text.toLowerCase().indexOf(word);
      return found > 60 ? "… " + text.slice(found - 50, found + 150) : text.slice(0, 200);
    }

    function show() {
      shown = find(input.value);
      at = shown.length ? 0 : -1;
      list.textContent = "";
      shown.forEach(function (row, i) {
        var item = document.createElement("li");
        item.setAttribute("role", "option");
        item.id = "result-" + i;
        var link = document.createElement("a");
        link.href = root + row[3];
        link.tabIndex = -1;
        link.appendChild(span("found", row[0]));
        link.appendChild(span("where", row[1] + (row[2] ? " · " + row[2] : "")));
        if (row[4]) link.appendChild(span("about", around(row[4])));
        link.addEventListener("click", close);
        item.appendChild(link);
        list.appendChild(item);
      });
      if (input.value.trim() && !shown.length) {
        var none = document.createElement("li");
        none.className = "none";
        none.textContent = "nothing found";
        list.appendChild(none);
      }
      list.hidden = !input.value.trim();
      input.setAttribute("aria-expanded", String(!list.hidden));
      mark();
    }

    function mark() {
      Array.prototype.forEach.call(list.children, function (item, i) {
        item.setAttribute("aria-selected", String(i === at));
        if (i === at) {
          input.setAttribute("aria-activedescendant", item.id);
          item.scrollIntoView({ block: "nearest" });
        }
      });
      if (at < 0) input.removeAttribute("aria-activedescendant");
    }

    function close() {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.blur();
    }

    input.addEventListener("input", show);
    input.addEventListener("focus", function () { if (input.value) show(); });
    input.addEventListener("keydown", function (event) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (shown.length) at = (at + (event.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length;
        mark();
      } else if (event.key === "Enter" && shown[at]) {
        event.preventDefault();
        close();
        location.href = root + shown[at][3];
      } else if (event.key === "Escape") {
        close();
      }
    });
    document.addEventListener("keydown", function (event) {
      var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
      var slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (slash || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
        event.preventDefault();
        input.focus();
        input.select();
      }
    });
    document.addEventListener("click", function (event) {
      if (!event.target.closest(".search")) list.hidden = true;
    });

    // A link to an inherited attribute opens the list that it is in; `?q=` is a search that can be sent to somebody.
    window.kclReady = function () {
      var q = new URLSearchParams(location.search).get("q");
      if (q) {
        input.value = q;
        show();
      }
    };
    if (window.kclIndex) window.kclReady();
  });
})();
