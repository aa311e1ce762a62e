import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { allDiagnostics } from '../project/all-diagnostics.ts';
import type { InvalidProject } from '../project/invalid-project.ts';
import { loadRules } from './load-rules.ts';

/** What is wrong in a project file that cannot be used, its rules included, and what shows in spite of it. */
export async function projectDiagnostics(
  error: InvalidProject,
  options: Parameters<typeof allDiagnostics>[1],
): Promise<readonly Diagnostic[]> {
  const all = await allDiagnostics(error, options);
  if (error.usable === undefined) return all;
  const { diagnostics } = await loadRules(error.usable);
  return [...all, ...diagnostics].sort(compareDiagnostics);
}
