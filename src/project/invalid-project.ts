import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';

/** A project file that cannot be used: everything that is wrong in it, with places. */
export class InvalidProject extends UserError {
  override readonly name = 'InvalidProject';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(lineOf).join('\n'));
    this.diagnostics = diagnostics;
  }
}

function lineOf({ file, line, column, message }: Diagnostic): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${place}  ${message}`;
}
