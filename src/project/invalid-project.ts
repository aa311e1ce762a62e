import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import type { ProjectConfig } from './project.ts';

/** The error for an invalid project file. The diagnostics contain the problems with their positions. */
export class InvalidProject extends UserError {
  override readonly name = 'InvalidProject';
  readonly diagnostics: readonly Diagnostic[];

  /**
   * The valid part of the project, to find further problems. Undefined if nothing is valid. This project must never be applied.
   * @internal
   */
  readonly usable: ProjectConfig | undefined;

  /** @internal */
  constructor(diagnostics: readonly Diagnostic[], usable?: ProjectConfig) {
    super(diagnostics.map(lineOf).join('\n'));
    this.diagnostics = diagnostics;
    this.usable = usable;
  }
}

function lineOf({ file, line, column, message }: Diagnostic): string {
  const position = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${position}  ${message}`;
}

/** The error for invalid manifests. The diagnostics contain the problems. */
export class InvalidManifests extends Error {
  override readonly name = 'InvalidManifests';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super('the manifests are not valid');
    this.diagnostics = diagnostics;
  }
}
