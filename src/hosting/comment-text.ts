/** The number of characters reserved for closing open blocks of truncated text, and for the note about the truncation. */
const RESERVE = 300;

/** Returns the hidden line that identifies a plan's comment. Each project folder and workspace has its own comment. */
export function markerOf(project: string, workspace: string): string {
  // encodeURIComponent escapes `>`, so no name can end the HTML comment.
  return `<!-- voxform plan ${encodeURIComponent(project)} ${encodeURIComponent(workspace)} -->`;
}

interface CommentParts {
  readonly marker: string;
  readonly text: string;
  readonly footer: string;
  /** The maximum length of the comment in characters. */
  readonly limit: number;
}

/** Returns the text of a comment. Text beyond the limit is truncated at the end of a line, and open blocks are closed. */
export function commentText({ marker, text, footer, limit }: CommentParts): string {
  const room = limit - marker.length - footer.length - 4;
  if (text.length <= room) return `${marker}\n${text.trimEnd()}\n\n${footer}\n`;
  const excerpt = text.slice(0, room - RESERVE);
  const end = excerpt.lastIndexOf('\n');
  const truncated = (end > 0 ? excerpt.slice(0, end) : excerpt).toWellFormed();
  const note = `_Truncated: a comment can have at most ${limit.toLocaleString('en')} characters._`;
  return `${marker}\n${truncated}\n${closingLines(truncated)}\n${note}\n\n${footer}\n`;
}

/** Escapes lines that GitLab would run as a command, such as /merge. GitLab ignores lines in code blocks. */
export function withoutQuickActions(text: string): string {
  const fence = new Fence();
  return text
    .split('\n')
    .map((line) => (fence.nextIsInside(line) ? line : line.replace(/^(\s*)\//, '$1&#47;')))
    .join('\n');
}

function closingLines(text: string): string {
  const fence = new Fence();
  let folds = 0;
  for (const line of text.split('\n')) {
    if (fence.nextIsInside(line)) continue;
    if (/^<details[ >]/.test(line)) folds++;
    if (line.startsWith('</details>')) folds--;
  }
  return `${fence.open === undefined ? '' : `${fence.open}\n`}${'\n</details>\n'.repeat(Math.max(0, folds))}`;
}

/** Tracks fenced code blocks while a text is read line by line. */
class Fence {
  open: string | undefined;

  /** Processes the next line. Returns true if it belongs to a block. The fences belong to their block. */
  nextIsInside(line: string): boolean {
    const [, run = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (this.open === undefined) {
      if (run !== '' && !(run.startsWith('`') && rest.includes('`'))) this.open = run;
      return this.open !== undefined;
    }
    if (run.startsWith(this.open) && rest.trim() === '') this.open = undefined;
    return true;
  }
}
