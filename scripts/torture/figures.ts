/** Violations of the guarantees. Any of them makes the campaign fail. */
export const violations = ['lost ids', 'silent duplicates', 'secrets seen'] as const;
export type Violation = (typeof violations)[number];

/** The counts, violations and failures of a campaign. */
export class Figures {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #totals = new Map<string, number>();
  readonly #remarks: string[] = [];
  #failures = 0;

  /** Counts under a heading, such as `kills by point`. */
  count(heading: string, name: string, times = 1): void {
    const names = this.#counts.get(heading) ?? new Map<string, number>();
    names.set(name, (names.get(name) ?? 0) + times);
    this.#counts.set(heading, names);
  }

  add(total: 'runs of the command' | 'records created' | Violation, number = 1): void {
    this.#totals.set(total, this.total(total) + number);
  }

  total(total: string): number {
    return this.#totals.get(total) ?? 0;
  }

  countOf(heading: string): number {
    return [...(this.#counts.get(heading)?.values() ?? [])].reduce((sum, number) => sum + number, 0);
  }

  addViolation(violation: Violation, detail: string): void {
    this.add(violation);
    this.#remarks.push(`${violation}: ${detail}`);
  }

  addFailure(name: string, error: unknown): void {
    this.#failures += 1;
    this.#remarks.push(`failed: ${name}\n${indent(truncate(messageOf(error)))}`);
  }

  addSkipped(name: string, reason: string): void {
    this.count('skipped', `${name}: ${reason}`);
  }

  get hasPassed(): boolean {
    return this.#failures === 0 && violations.every((violation) => this.total(violation) === 0);
  }

  table(): string {
    const lines: string[] = [];
    for (const [heading, names] of this.#counts) {
      lines.push(row(heading, this.countOf(heading)));
      for (const [name, number] of [...names].sort()) lines.push(row(`  ${name}`, number));
    }
    for (const total of ['runs of the command', 'records created', ...violations]) {
      lines.push(row(total, this.total(total)));
    }
    lines.push(row('failed checks', this.#failures));
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

function indent(text: string): string {
  return text.replace(/^/gm, '    ');
}

const MAX_LENGTH = 1_500;

/** Keeps more of the end than of the beginning, because a command prints its errors last. */
function truncate(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH / 3)}\n…\n${text.slice(-MAX_LENGTH)}`;
}
