"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (text) => { said.textContent = text; };
  const rows = (table) => [...table.querySelectorAll("tr")].map((r) => [...r.children].map((c) => c.textContent));
  const tableOf = (button) => button.closest(".tablebox").querySelector("table");
  const save = (name, blob) => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  };
  const fileName = (text, ending) => text.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").toLowerCase() + ending;

  // Sorting: numbers by size, others by text, what is no number last.
  const value = (text) => { const n = parseFloat(text.replace(/[^0-9eE.+-]/g, "")); return Number.isNaN(n) ? null : n; };
  for (const button of document.querySelectorAll("th button.sort")) {
    button.addEventListener("click", () => {
      const th = button.parentElement, table = th.closest("table"), body = table.tBodies[0];
      const column = [...th.parentElement.children].indexOf(th), up = th.getAttribute("aria-sort") !== "ascending";
      for (const other of th.parentElement.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const numeric = !th.classList.contains("l");
      const list = [...body.rows];
      list.sort((a, b) => {
        const x = a.cells[column].textContent, y = b.cells[column].textContent;
        const p = value(x), q = value(y);
        if (numeric || (p !== null && q !== null && String(p) === x && String(q) === y)) {
          if (p === null || q === null) return (p === null) - (q === null);
          return up ? p - q : q - p;
        }
        return up ? x.localeCompare(y) : y.localeCompare(x);
      });
      body.append(...list);
      say("sorted by " + button.textContent + (up ? ", ascending" : ", descending"));
    });
  }
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const text = rows(tableOf(button)).map((r) => r.join("\t")).join("\n");
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      say("table copied");
    });
  }
  for (const button of document.querySelectorAll("button.csv")) {
    button.addEventListener("click", () => {
      const quote = (t) => (/[",\n]/.test(t) ? '"' + t.replaceAll('"', '""') + '"' : t);
      const text = rows(tableOf(button)).map((r) => r.map(quote).join(",")).join("\n") + "\n";
      save(fileName(button.closest(".tablebox").dataset.name, ".csv"), new Blob([text], { type: "text/csv" }));
    });
  }

  // A figure on its own has no theme: its colours are written out.
  const alone = (figure) => {
    const svg = figure.querySelector("svg"), style = getComputedStyle(document.documentElement);
    const text = new XMLSerializer().serializeToString(svg).replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    const paper = style.getPropertyValue("--paper").trim();
    return text.replace(/^(<svg[^>]*>)/, '$1<rect width="100%" height="100%" fill="' + paper + '"/>');
  };
  for (const button of document.querySelectorAll("button.svg")) {
    button.addEventListener("click", () => save(fileName(button.dataset.name, ".svg"), new Blob([alone(button.closest("figure"))], { type: "image/svg+xml" })));
  }
  for (const button of document.querySelectorAll("button.png")) {
    button.addEventListener("click", () => {
      const figure = button.closest("figure"), box = figure.querySelector("svg").viewBox.baseVal, image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = box.width * 3;
        canvas.height = box.height * 3;
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => save(fileName(button.dataset.name, ".png"), blob), "image/png");
      };
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(alone(figure).replace("<svg", '<svg width="' + box.width + '" height="' + box.height + '"'));
    });
  }
})();
