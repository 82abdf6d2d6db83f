package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sextant/interp/driver/drivertest"
)

const smallRun = "testdata/runs/small"

// Golden files of what is shown of a committed run; -update writes them.
func TestGoldenViews(t *testing.T) {
	for file, args := range map[string][]string{
		"show.txt":    {"show", smallRun},
		"columns.txt": {"show", smallRun, "--columns", "consistency"},
		"p99.txt":     {"show", smallRun, "--columns", "concurrency", "--metric", "p99_ms", "--where", "consistency=full"},
		"compare.txt": {"compare", smallRun, "--by", "consistency", "--baseline", "off"},
		"report.html": {"report", smallRun, "-o", filepath.Join(t.TempDir(), "report.html")},
	} {
		t.Run(file, func(t *testing.T) {
			var out, stderr bytes.Buffer
			code := run(t.Context(), &env{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &stderr, lookup: os.LookupEnv})
			if code != exitFine {
				t.Fatalf("exit code %d: %s", code, stderr.String())
			}
			got := out.Bytes()
			if file == "report.html" {
				var err error
				if got, err = os.ReadFile(args[len(args)-1]); err != nil {
					t.Fatal(err)
				}
			}
			golden := filepath.Join("testdata/golden", file)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("%s differs from byte %d on: %q, want %q", golden, i, cut(got, i), cut(want, i))
			}
		})
	}
}

func cut(b []byte, from int) string { return string(b[max(from-40, 0):min(from+120, len(b))]) }

// inBrowser loads a page with some script behind it in a headless browser and gives the document as it then is.
func inBrowser(t *testing.T, page, script string) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		err = errors.New("chromium is not installed")
	}
	drivertest.Need(t, err)
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, bytes.Replace(b, []byte("</body>"), []byte("<script>"+script+"</script></body>"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for try := 0; ; try++ {
		out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--user-data-dir="+dir, "--virtual-time-budget=60000", "--dump-dom", "file://"+file).Output()
		if err != nil {
			t.Fatalf("the browser: %v", err)
		}
		// The browser's clock is a virtual one and may run out while a busy machine still encodes a picture.
		if try == 4 || bytes.Contains(out, []byte(`<p id="seen">`)) {
			return string(out)
		}
	}
}

// What a reader does with the page works in a browser: tables are sorted by numbers, by keyboard as well, copied, and figures
// are written out with their colours; nothing throws.
func TestReportInBrowser(t *testing.T) {
	script := `
const said = [];
window.addEventListener("error", (e) => said.push("error " + e.message));
const column = (n) => [...document.querySelectorAll("#cells tbody tr")].map((r) => r.cells[n].textContent);
const head = (name) => [...document.querySelectorAll("#cells th button")].find((b) => b.textContent === name);
head("ops/s").click();
said.push("up " + column(2).join(" "));
head("ops/s").focus();
said.push("focused " + (document.activeElement === head("ops/s")));
head("ops/s").click();
said.push("down " + column(2).join(" "), "sort " + head("ops/s").parentElement.getAttribute("aria-sort"));
let saved = [];
URL.createObjectURL = (blob) => { saved.push(blob); return "data:,"; };
document.querySelector("#cells button.csv").click();
document.querySelector("figure button.svg").click();
document.querySelector("figure button.png").click();
const report = async () => {
  if (saved.length < 3) return setTimeout(report, 100);
  for (const b of saved) said.push("saved " + b.type + " " + b.size + " " + (b.type === "image/png" ? "" : (await b.text()).replace(/\s+/g, " ").slice(0, 400)));
  const box = document.documentElement;
  said.push("overflow " + (box.scrollWidth > box.clientWidth + 1), "figures " + document.querySelectorAll("figure svg[role=img]").length);
  const p = document.createElement("p");
  p.id = "seen";
  p.textContent = said.join("\n");
  document.body.append(p);
};
report();`
	page := filepath.Join(t.TempDir(), "report.html")
	if code := run(t.Context(), &env{args: []string{"report", smallRun, "-o", page}, stdout: new(bytes.Buffer), stderr: os.Stderr, lookup: os.LookupEnv}); code != exitFine {
		t.Fatalf("exit code %d", code)
	}
	dom := inBrowser(t, page, script)
	_, seen, ok := strings.Cut(dom, `<p id="seen">`)
	seen, _, _ = strings.Cut(seen, "</p>")
	if !ok {
		t.Fatalf("the page's script did not come to its end: %.2000s", dom)
	}
	for _, want := range []string{"up 11990 12872 13525 14038 97063 100292 102560 116373", "down 116373 102560 100292 97063 14038 13525 12872 11990", "sort descending", "focused true",
		"saved text/csv", "consistency,concurrency,ops/s,± 95 %", "saved image/svg+xml", "saved image/png", "overflow false"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no %q in\n%s", want, seen)
		}
	}
	if strings.Contains(seen, "error ") || strings.Contains(seen, "figures 0") {
		t.Error(seen)
	}
	for l := range strings.Lines(seen) {
		if strings.HasPrefix(l, "saved image/svg+xml") && strings.Contains(l, "var(") {
			t.Errorf("a figure that is saved has the page's colours: %s", l)
		}
	}
}

// On paper every table keeps its heads, nothing is wider than the page, and what can only be clicked is gone.
func TestReportOnPaper(t *testing.T) {
	page := filepath.Join(t.TempDir(), "report.html")
	if code := run(t.Context(), &env{args: []string{"report", smallRun, "-o", page}, stdout: new(bytes.Buffer), stderr: os.Stderr, lookup: os.LookupEnv}); code != exitFine {
		t.Fatalf("exit code %d", code)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, bytes.ReplaceAll(b, []byte("@media print"), []byte("@media screen")), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := inBrowser(t, page, `
const hidden = (q) => [...document.querySelectorAll(q)].filter((e) => e.offsetHeight === 0).length + "/" + document.querySelectorAll(q).length;
const p = document.createElement("p");
p.id = "seen";
p.textContent = "heads " + hidden("#cells th button") + " copies " + hidden(".copy") + " overflow " + (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1);
document.body.append(p);`)
	_, seen, _ := strings.Cut(dom, `<p id="seen">`)
	seen, _, _ = strings.Cut(seen, "</p>")
	var heads, copies, all int
	if n, err := fmt.Sscanf(seen, "heads 0/%d copies %d/%d overflow false", &heads, &copies, &all); n != 3 || heads < 5 || copies != all || all < 3 {
		t.Errorf("on paper: %q, %v", seen, err)
	}
}

// A night's run is reported within seconds, in a file that opens.
func BenchmarkReport(b *testing.B) {
	for b.Loop() {
		file := filepath.Join(b.TempDir(), "r.html")
		if code := run(b.Context(), &env{args: []string{"report", smallRun, "-o", file}, stdout: new(bytes.Buffer), stderr: os.Stderr, lookup: os.LookupEnv}); code != exitFine {
			b.Fatal(code)
		}
	}
}
