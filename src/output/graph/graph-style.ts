/** How a picture looks; its colours are variables. */
export const graphStyle = `
.graph{font:12px/1 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.graph .paper{fill:var(--paper)}
.graph .frame rect{fill:none;stroke:var(--line)}
.graph .frame text{fill:var(--ink);font-weight:600;stroke:var(--paper);stroke-width:6px;paint-order:stroke}
.graph .frame a:hover text,.graph .frame a:focus-visible text{fill:var(--ask)}
.graph .box,.graph .stack{fill:var(--box);stroke:var(--line)}
.graph .bar{fill:var(--of-kind,var(--wire))}
.graph .name{fill:var(--ink);font-weight:600}
.graph .kind{fill:var(--of-kind,var(--faint));}
.graph .note{fill:var(--faint)}
.graph .outside .box{stroke-dasharray:4 3;fill:var(--paper)}
.graph .outside .name{font-weight:400}
.graph a:hover .box,.graph a:focus-visible .box{stroke:var(--of-kind,var(--ink));stroke-width:2}
.graph .edge path{fill:none;stroke:var(--wire);stroke-width:1.25}
.graph .edge:hover path{stroke:var(--ink);stroke-width:2}
${marks('good', ['create', 'done'])}
${marks('change', ['update', 'drifted', 'skipped'])}
${marks('odd', ['replace', 'unknown'])}
${marks('bad', ['forget', 'blocked', 'missing', 'failed'])}
${marks('ask', ['manual', 'adopt'])}
`;

/** The edge of a box and its word in a tone, for each of these words. */
function marks(tone: string, words: readonly string[]): string {
  const all = (part: string) => words.map((word) => `.graph .mark-${word} ${part}`).join(',');
  return `${all('.box')}{stroke:var(--${tone})}${all('.mark')}{fill:var(--${tone});font-weight:600}`;
}
