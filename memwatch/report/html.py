"""HTML, made by hand and by one rule: text goes through `text`, and whatever comes out of here is safe already."""

import re
from collections.abc import Iterable
from html import escape

from memwatch.errors import printable

_CODE = re.compile("`([^`]+)`")


class Html(str):
    """Text that may go into a page as it is."""

    __slots__ = ()


def text(value: object) -> Html:
    """Anything from outside: printable, and without a meaning in HTML."""
    return Html(escape(printable(value), quote=True))


def with_code(value: object) -> Html:
    """Text in which `words like these` are a command or a name."""
    return Html(_CODE.sub(r"<code>\1</code>", text(value)))


def element(tag: str, *inside: Html | str, **attributes: object) -> Html:
    """`inside` that is not Html is text. An attribute ends in `_` where its name is a word of Python."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{written}>{joined(inside)}</{tag}>")


def joined(parts: Iterable[Html | str]) -> Html:
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts))


# How the page looks: one sheet, light and dark, on a screen and on paper.
_LIGHT = """--paper: #fcfbf9; --raised: #ffffff; --ink: #22262b; --soft: #5d6570; --faint: #e7e4de; --hair: #d6d2ca;
  --machine: #8492a2; --job: #1f5fa8; --swap: #75559f; --swap-in: #75559f; --swap-out: #2f8580;
  --some: #c08a1e; --full: #b83a26; --disk: #8a8f96; --gpu: #3b7f4f; --gpu-memory: #7c9a35;
  --watch: #dcbf62; --warn: #d98324; --act: #bf3527; --calm-mark: #5d6570; --finding: #bf3527;"""

STYLE = """
:root {
  color-scheme: light dark;
@LIGHT@
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --raised: #1c2025; --ink: #e4e6e8; --soft: #9aa3ad; --faint: #2a2f36; --hair: #3a4048;
    --machine: #8391a1; --job: #6fa8e6; --swap: #b096dd; --swap-in: #b096dd; --swap-out: #62bdb5;
    --some: #e0b04d; --full: #ef7e68; --disk: #848b93; --gpu: #71bd88; --gpu-memory: #b5cf6b;
    --watch: #a98d35; --warn: #e8983f; --act: #ee6b59; --calm-mark: #9aa3ad; --finding: #ee6b59;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: .9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
main { max-width: 68rem; margin: 0 auto; padding: 2.2rem 1.5rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; font-weight: 650; letter-spacing: -.015em; margin: 0 0 .3rem; }
h2 { font-size: 1.05rem; font-weight: 650; margin: 2.6rem 0 .8rem; }
h3 { font-size: .9rem; font-weight: 650; margin: 0; }
h3 small { font-size: inherit; font-weight: 400; color: var(--soft); margin-left: .25rem; }
p { margin: .3rem 0; } ul, ol, dl { margin: 0; padding: 0; list-style: none; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.4rem, 1fr)); gap: .1rem 1.2rem;
  margin: 1.4rem 0 0; border-top: 1px solid var(--hair); padding-top: .9rem; }
.tiles dt { color: var(--soft); font-size: .82rem; }
.tiles dd { margin: 0 0 .7rem; font-size: 1.22rem; font-weight: 600; letter-spacing: -.01em; line-height: 1.3; }
.tiles dd small { display: block; font-size: .82rem; font-weight: 400; letter-spacing: 0; color: var(--soft); }

.findings > li { border-left: 3px solid var(--finding); padding: .1rem 0 .1rem 1rem; margin: 0 0 1.5rem; }
.findings h3 { font-size: 1.08rem; line-height: 1.35; }
.findings .letter { color: var(--finding); margin-right: .4rem; }
.findings dl { display: grid; grid-template-columns: 6.2rem 1fr; gap: .25rem .8rem; margin-top: .5rem; }
.findings dt, .facts dt { color: var(--soft); font-size: .86rem; padding-top: .09rem; }
.findings dd, .facts dd { margin: 0; }
.findings ol { list-style: decimal; padding-left: 1.2rem; }
.facts { display: grid; grid-template-columns: 6.2rem 1fr; gap: .5rem .8rem; padding-left: calc(1rem + 3px); }
.held li { position: relative; margin: 0 0 .25rem; padding: .05rem .4rem; max-width: 44rem; }
.held i { position: absolute; inset: 0 auto 0 0; background: var(--job); opacity: .22; border-radius: 2px; }
.held span { position: relative; }
.held .limit { padding: 0; }
.held .limit b { display: block; border-right: 2px solid var(--act); border-top: 1px solid var(--act);
  color: var(--act); font-size: .82rem; font-weight: 600; text-align: right; padding-right: .4rem; }

.charts { --gutter: 4.6rem; padding-right: .7rem; }
.lane, .spans, .xaxis { position: relative; margin-left: var(--gutter); }
.lane { border-bottom: 1px solid var(--hair); }
.lane svg, .plot svg { display: block; width: 100%; overflow: visible; }
.lane svg { height: .42rem; }
.badges { position: relative; }
.badge, .span-label { position: absolute; transform: translateX(-50%); min-width: 1.3rem; height: 1.3rem;
  padding: 0 .28rem; border-radius: .65rem; font-size: .75rem; line-height: 1.3rem; font-weight: 650;
  text-align: center; text-decoration: none; color: var(--paper); background: var(--calm-mark); white-space: nowrap; }
.badge.warn { background: var(--warn); } .badge.act, .badge.stop, .badge.kill { background: var(--act); }
.spans { height: 1.7rem; }
.span-bar { position: absolute; bottom: 0; height: 3px; min-width: 3px; background: var(--finding); }
.span-label { background: none; color: var(--finding); bottom: 3px; top: auto; }
.chart { margin: 1.15rem 0 0; break-inside: avoid; }
.chart > header { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; align-items: baseline;
  margin: 0 0 .45rem var(--gutter); }
.keys { display: flex; flex-wrap: wrap; gap: 0 1.1rem; font-size: .84rem; color: var(--soft); }
.keys i { display: inline-block; width: .95rem; height: 0; border-top: 3px solid; margin-right: .4rem;
  vertical-align: .24em; border-radius: 2px; }
.keys i.dashed { border-top-style: dotted; }
.plot { position: relative; margin-left: var(--gutter); height: 13rem; border-bottom: 1px solid var(--hair); }
.plot.low { height: 6.2rem; }
.plot svg { height: 100%; position: relative; }
.tick { position: absolute; font-size: .78rem; line-height: 1; color: var(--soft); white-space: nowrap; }
.plot > .tick { right: calc(100% + .55rem); transform: translateY(50%); }
.plot > .rule-label { position: absolute; left: .3rem; font-size: .78rem; line-height: 1; color: var(--act);
  background: color-mix(in srgb, var(--paper) 82%, transparent); padding: .1rem .2rem; }
.plot > .rule-label.counted { left: auto; right: .3rem; font-weight: 600; transform: translateY(100%); }
.plot > .gap-label { position: absolute; top: 45%; transform: translateX(-50%); font-size: .76rem; line-height: 1.15;
  color: var(--soft); text-align: center; padding: .1rem .2rem;
  background: color-mix(in srgb, var(--paper) 82%, transparent); }
.xaxis { height: 1.5rem; }
.xaxis .tick { top: .45rem; transform: translateX(-50%); }
.xaxis .tick.last { transform: translateX(-100%); }

line, path, rect { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--faint); stroke-width: 1; }
.rule { stroke: var(--act); stroke-width: 1; stroke-dasharray: 5 4; opacity: .8; }
.rule.counted { stroke-width: 2; stroke-dasharray: none; opacity: 1; }
.mark { stroke: var(--calm-mark); stroke-width: 1; opacity: .75; }
.mark.warn { stroke: var(--warn); } .mark.act, .mark.stop, .mark.kill { stroke: var(--act); }
.gap { position: absolute; top: 0; bottom: 0; min-width: 1px;
  background: repeating-linear-gradient(135deg, var(--faint) 0 2px, transparent 2px 7px); }
rect.finding { fill: var(--finding); opacity: .09; }
rect.level.watch { fill: var(--watch); } rect.level.warn { fill: var(--warn); } rect.level.act { fill: var(--act); }
.line { fill: none; stroke: var(--c); stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }
.line.dashed { stroke-dasharray: 1.5 3.5; }
.band { fill: var(--c); fill-opacity: .45; stroke: var(--c); stroke-width: 1.3; stroke-linejoin: round; }
.band.dashed { fill-opacity: .35; stroke-opacity: .45; stroke-width: 1; }
.area { fill: var(--c); opacity: .17; }
.machine { --c: var(--machine); } .job { --c: var(--job); } .swap { --c: var(--swap); }
.swap-in { --c: var(--swap-in); } .swap-out { --c: var(--swap-out); } .disk { --c: var(--disk); }
.some { --c: var(--some); } .full { --c: var(--full); }
.gpu { --c: var(--gpu); } .gpu-memory { --c: var(--gpu-memory); }
.keys i { border-top-color: var(--c); }

table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th { text-align: left; font-weight: 500; font-size: .82rem; color: var(--soft); }
th, td { padding: .34rem 1rem .34rem 0; border-bottom: 1px solid var(--faint); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.soft { white-space: nowrap; } td.time { white-space: nowrap; color: var(--soft); }
td .badge { position: static; display: inline-block; transform: none; }
td .word { font-weight: 600; white-space: nowrap; } tr:target { background: var(--faint); }
.warn .word { color: var(--warn); } .act .word, .stop .word, .kill .word { color: var(--act); }
footer { margin-top: 3rem; padding-top: .9rem; border-top: 1px solid var(--hair);
  font-size: .84rem; color: var(--soft); }

@media (max-width: 40rem) {
  main { padding: 1.3rem .9rem 2rem; } h1 { font-size: 1.35rem; }
  .charts { --gutter: 4.1rem; } .plot { height: 10rem; } .plot.low { height: 5.2rem; }
  .xaxis .tick:nth-child(even) { display: none; } .plot > .tick { right: calc(100% + .35rem); font-size: .72rem; }
  .tiles { grid-template-columns: 1fr 1fr; } .facts, .findings dl { grid-template-columns: 1fr; gap: .1rem; }
  .facts dd, .findings dd { margin-bottom: .4rem; } .facts { padding-left: 0; } .gap-label { display: none; }
  th, td { padding-right: .6rem; }
  .rule-label:not(.counted) { display: none; }
  .programs :is(th, td):is(:nth-child(2), :nth-child(3), :nth-child(6)) { display: none; }
}
@media print {
  :root { color-scheme: light;
@LIGHT@ --paper: #fff; }
  @page { margin: 14mm; }
  html { font-size: 13px; }
  body { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; } .plot { height: 42mm; } .plot.low { height: 21mm; }
  h2 { break-after: avoid; } .charts, .findings > li, tr { break-inside: avoid; }
}
""".replace("@LIGHT@", _LIGHT)
