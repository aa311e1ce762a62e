/** What must never happen; one of them makes the campaign fail. */
export const wrongs = ['lost ids', 'silent duplicates', 'secrets seen'] as const;
export type Wrong = (typeof wrongs)[number];

/** What a campaign did and what it found. */
export class Figures {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #totals = new Map<string, number>();
  readonly #remarks: string[] = [];
  #failures = 0;

  /** Counts under a heading, e.g. kills by place. */
  count(heading: string, name: string, times = 1): void {
    const names = this.#counts.get(heading) ?? new Map<string, number>();
    names.set(name, (names.get(name) ?? 0) + times);
    this.#counts.set(heading, names);
  }

  add(total: 'runs of the command' | 'records created' | Wrong, number = 1): void {
    this.#totals.set(total, this.of(total) + number);
  }

  of(total: string): number {
    return this.#totals.get(total) ?? 0;
  }

  countOf(heading: string): number {
    return [...(this.#counts.get(heading)?.values() ?? [])].reduce((sum, number) => sum + number, 0);
  }

  wrong(what: Wrong, remark: string): void {
    this.add(what);
    this.#remarks.push(`${what}: ${remark}`);
  }

  /** Something that does not hold. */
  failed(name: string, error: unknown): void {
    this.#failures += 1;
    this.#remarks.push(`does not hold: ${name}\n${indented(shortened(messageOf(error)))}`);
  }

  skipped(name: string, reason: string): void {
    this.count('skipped', `${name}: ${reason}`);
  }

  get isGood(): boolean {
    return this.#failures === 0 && wrongs.every((wrong) => this.of(wrong) === 0);
  }

  /** The figures as a table. */
  table(): string {
    const lines: string[] = [];
    for (const [heading, names] of this.#counts) {
      lines.push(row(heading, this.countOf(heading)));
      for (const [name, number] of [...names].sort()) lines.push(row(`  ${name}`, number));
    }
    for (const total of ['runs of the command', 'records created', ...wrongs]) {
      lines.push(row(total, this.of(total)));
    }
    lines.push(row('promises not held', this.#failures));
    return [...this.#remarks, ...(this.#remarks.length > 0 ? [''] : []), ...lines, ''].join('\n');
  }
}

const WIDTH = 84;

function row(name: string, number: number): string {
  return `${`${name} `.padEnd(WIDTH - 8, '.')} ${String(number).padStart(7)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function indented(text: string): string {
  return text.replace(/^/gm, '    ');
}

const LONGEST = 1_500;

/** The end says most: what a command prints closes with its errors. */
function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST / 3)}\n…\n${text.slice(-LONGEST)}`;
}
