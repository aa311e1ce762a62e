/** So many kinds are told apart by colour. */
export const shadeCount = 5;

/** The colours of the picture, light and dark. In a page of its own it takes the page's. */
export const graphStyle = `
.graph{--paper:#fff;--ink:#1f2328;--faint:#59636e;--line:#afb8c1;--box:#f6f8fa;--good:#1a7f37;--change:#9a6700;--bad:#cf222e;--ask:#0969da;--odd:#8250df;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.graph .paper{fill:var(--paper)}
.graph .box,.graph .stack{fill:var(--box);stroke:var(--line)}
.graph .bar{fill:var(--line)}
.graph text{fill:var(--ink)}
.graph .kind,.graph .note{fill:var(--faint);font-size:11px}
.graph .name{font-weight:600}
.graph .edge path{fill:none;stroke:var(--line);stroke-width:1.5}
.graph .edge:hover path{stroke:var(--ink);stroke-width:2}
${marks('good', ['create', 'done'])}
${marks('change', ['update', 'drifted', 'skipped'])}
${marks('odd', ['replace', 'unknown'])}
${marks('bad', ['forget', 'blocked', 'missing', 'failed'])}
${marks('ask', ['manual', 'adopt'])}
.graph .shade-0 .bar{fill:var(--ask)}.graph .shade-1 .bar{fill:var(--good)}.graph .shade-2 .bar{fill:var(--change)}.graph .shade-3 .bar{fill:var(--odd)}.graph .shade-4 .bar{fill:var(--bad)}
@media (prefers-color-scheme:dark){.graph{--paper:#0d1117;--ink:#e6edf3;--faint:#9198a1;--line:#4b535d;--box:#161b22;--good:#3fb950;--change:#d29922;--bad:#f85149;--ask:#4493f8;--odd:#ab7df8}}
`;

/** A box in a colour, for each of these words. */
function marks(color: string, words: readonly string[]): string {
  const all = (part: string) => words.map((word) => `.graph .mark-${word} ${part}`).join(',');
  return `${all('.box')}{stroke:var(--${color})}${all('.bar')}{fill:var(--${color})}`;
}
