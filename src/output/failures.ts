import { PlatformError } from '../platform/platform-error.ts';
import { errorMessage } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import type { FailedWorkspace } from '../runs/open-workspace.ts';
import type { WorkspaceFailure } from '../runs/plans-document.ts';
import { renderDiagnostics } from './diagnostics.ts';
import { diagnosticsOf, hintOf } from './error-json.ts';
import { renderError } from './errors.ts';
import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';

/** What went wrong in a workspace, as data that holds no secret. */
export function failureOf(
  { workspace, baseUrl, error }: FailedWorkspace,
  redact: (text: string) => string,
): WorkspaceFailure {
  const hint = hintOf(error, { workspace }, baseUrl);
  const diagnostics = diagnosticsOf(error);
  const message = errorMessage(error);
  return {
    workspace,
    message: redact(isOwnMistake(error) ? `this is a bug in voxform: ${message}` : message),
    ...(hint !== undefined && { hint: redact(hint) }),
    ...(diagnostics !== undefined && { diagnostics: diagnostics.map(({ fix: _, ...each }) => each) }),
  };
}

/** True for what neither a person nor the platform brought about. */
export function isOwnMistake(error: unknown): boolean {
  const isExpected = error instanceof UserError || error instanceof PlatformError;
  return !isExpected && diagnosticsOf(error) === undefined;
}

export function failureText(failure: WorkspaceFailure, style: Style): string {
  const { workspace, message, hint, diagnostics = [] } = failure;
  const error = new UserError(message, hint === undefined ? {} : { hint });
  return `Workspace ${escapeControls(workspace)}\n\n${renderError(error, style)}${renderDiagnostics(diagnostics, style)}`;
}
