import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import type { ProjectConfig } from './project.ts';

/** The project file is invalid. The diagnostics say why, with places. */
export class InvalidProject extends UserError {
  override readonly name = 'InvalidProject';
  readonly diagnostics: readonly Diagnostic[];

  /**
   * The valid part of the project, for finding further problems; undefined if nothing is left. Must never be applied.
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
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${place}  ${message}`;
}

/** The manifests are invalid. The diagnostics say why. */
export class InvalidManifests extends Error {
  override readonly name = 'InvalidManifests';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super('the manifests are not valid');
    this.diagnostics = diagnostics;
  }
}
