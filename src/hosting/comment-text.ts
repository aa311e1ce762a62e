/** Characters reserved for closing open blocks after a cut, and for a note about it. */
const RESERVE = 300;

/** The hidden line that identifies a plan's comment: one for each project folder and workspace. */
export function markerOf(project: string, workspace: string): string {
  // encodeURIComponent escapes `>`, so no name can end the HTML comment.
  return `<!-- voxform plan ${encodeURIComponent(project)} ${encodeURIComponent(workspace)} -->`;
}

interface CommentParts {
  readonly marker: string;
  readonly text: string;
  readonly footer: string;
  /** In characters. */
  readonly limit: number;
}

/** Returns the text of a comment. Text beyond the limit is cut at the end of a line, and open blocks are closed. */
export function commentText({ marker, text, footer, limit }: CommentParts): string {
  const room = limit - marker.length - footer.length - 4;
  if (text.length <= room) return `${marker}\n${text.trimEnd()}\n\n${footer}\n`;
  const rough = text.slice(0, room - RESERVE);
  const end = rough.lastIndexOf('\n');
  const kept = (end > 0 ? rough.slice(0, end) : rough).toWellFormed();
  const note = `_Cut here: a comment holds at most ${limit.toLocaleString('en')} characters._`;
  return `${marker}\n${kept}\n${closing(kept)}\n${note}\n\n${footer}\n`;
}

/** Escapes lines that GitLab would run as a command, such as /merge. GitLab ignores lines in code blocks. */
export function withoutQuickActions(text: string): string {
  const fence = new Fence();
  return text
    .split('\n')
    .map((line) => (fence.takes(line) ? line : line.replace(/^(\s*)\//, '$1&#47;')))
    .join('\n');
}

function closing(text: string): string {
  const fence = new Fence();
  let folds = 0;
  for (const line of text.split('\n')) {
    if (fence.takes(line)) continue;
    if (/^<details[ >]/.test(line)) folds++;
    if (line.startsWith('</details>')) folds--;
  }
  return `${fence.open === undefined ? '' : `${fence.open}\n`}${'\n</details>\n'.repeat(Math.max(0, folds))}`;
}

/** Tracks whether each line belongs to a fenced block, including its fences. */
class Fence {
  open: string | undefined;

  takes(line: string): boolean {
    const [, run = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (this.open === undefined) {
      if (run !== '' && !(run.startsWith('`') && rest.includes('`'))) this.open = run;
      return this.open !== undefined;
    }
    if (run.startsWith(this.open) && rest.trim() === '') this.open = undefined;
    return true;
  }
}
