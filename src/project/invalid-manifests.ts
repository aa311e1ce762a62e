import type { Diagnostic } from '../problems/diagnostic.ts';

/** The manifests are invalid. The diagnostics say why. */
export class InvalidManifests extends Error {
  override readonly name = 'InvalidManifests';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super('the manifests are not valid');
    this.diagnostics = diagnostics;
  }
}
