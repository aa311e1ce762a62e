/** Characters. Longer headings are shortened in the name of a place. */
const longHeading = 50;

/**
 * For each line of a Markdown text: the headings above it, the outermost first, e.g. `['Support', 'Refunds']`. A heading includes itself.
 * Lines under the same headings share one array. Code fences contain no headings.
 */
export function sectionsOf(lines: readonly string[]): (readonly string[])[] {
  const open: { readonly level: number; readonly title: string }[] = [];
  let section: readonly string[] = [];
  let fence: string | undefined;
  return lines.map((line) => {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
      return section;
    }
    if (mark !== undefined) {
      fence = mark;
      return section;
    }
    const heading = headingIn(line);
    if (heading !== undefined) {
      while ((open.at(-1)?.level ?? 0) >= heading.level) open.pop();
      open.push(heading);
      section = open.map(({ title }) => title);
    }
    return section;
  });
}

export function isHeading(line: string): boolean {
  return headingIn(line) !== undefined;
}

function headingIn(line: string): { level: number; title: string } | undefined {
  const [, marks, text = ''] = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t\r]*$/.exec(line) ?? [];
  if (marks === undefined) return undefined;
  const title = text.length > longHeading ? `${text.slice(0, longHeading).toWellFormed()}…` : text;
  return { level: marks.length, title };
}
