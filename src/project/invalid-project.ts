import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import type { ProjectConfig } from './project.ts';

/** A project file that cannot be used: everything that is wrong in it, with places. */
export class InvalidProject extends UserError {
  override readonly name = 'InvalidProject';
  readonly diagnostics: readonly Diagnostic[];

  /** What is left of it without what is wrong, to look for more; undefined where that is nothing. Never to be applied. */
  readonly usable: ProjectConfig | undefined;

  constructor(diagnostics: readonly Diagnostic[], usable?: ProjectConfig) {
    super(diagnostics.map(lineOf).join('\n'));
    this.diagnostics = diagnostics;
    this.usable = usable;
  }
}

function lineOf({ file, line, column, message }: Diagnostic): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${place}  ${message}`;
}
