import type { Diagnostic } from '../problems/diagnostic.ts';

/** The manifests cannot be used; each diagnostic says why. */
export class InvalidManifests extends Error {
  override readonly name = 'InvalidManifests';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super('the manifests are not valid');
    this.diagnostics = diagnostics;
  }
}
