import { PlatformError } from '../../platform/platform-error.ts';
import type { Diagnostic } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import type { WorkspaceFailure } from '../../runs/plans-document.ts';
import type { FailedWorkspace } from '../../runs/several.ts';
import { diagnosticsGithub, renderDiagnostics } from '../diagnostics.ts';
import { renderError } from '../errors.ts';
import { escapeControls } from '../escape-controls.ts';
import { githubCommand } from '../github-command.ts';
import { markdownCode, markdownText } from '../markdown-text.ts';
import { helpText } from '../next-steps.ts';
import { platformHint } from '../platform-hints.ts';
import type { Style } from '../style.ts';

/** What went wrong in a workspace, as data that holds no secret. */
export function failureOf(
  { workspace, baseUrl, error }: FailedWorkspace,
  redact: (text: string) => string,
): WorkspaceFailure {
  const hint =
    error instanceof UserError
      ? helpText(error, ` -w ${workspace}`)
      : error instanceof PlatformError
        ? platformHint(error, baseUrl)
        : undefined;
  const diagnostics = diagnosticsOf(error);
  return {
    workspace,
    message: redact(messageOf(error)),
    ...(hint !== undefined && { hint: redact(hint) }),
    ...(diagnostics !== undefined && { diagnostics }),
  };
}

/** True for what neither a person nor the platform brought about. */
export function isOwnMistake(error: unknown): boolean {
  return !(
    error instanceof UserError ||
    error instanceof PlatformError ||
    diagnosticsOf(error) !== undefined
  );
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isOwnMistake(error) ? `this is a bug in voxform: ${error.message}` : error.message;
}

/** Manifests and project files are wrong in many places at once. */
function diagnosticsOf(error: unknown): readonly Diagnostic[] | undefined {
  if (!(error instanceof Error) || !('diagnostics' in error)) return undefined;
  return Array.isArray(error.diagnostics) ? (error.diagnostics as readonly Diagnostic[]) : undefined;
}

export function failureText(failure: WorkspaceFailure, style: Style): string {
  const { workspace, message, hint, diagnostics = [] } = failure;
  const error = new UserError(message, hint === undefined ? {} : { hint });
  return `Workspace ${escapeControls(workspace)}\n\n${renderError(error, style)}${renderDiagnostics(diagnostics, style)}`;
}

export function failureMarkdown({ workspace, message, hint, diagnostics = [] }: WorkspaceFailure): string {
  const lines = [message, ...(hint === undefined ? [] : [hint])].map(markdownText);
  const places = diagnostics.map(
    ({ file, line, message: wrong }) =>
      `- ${markdownCode(line === undefined ? file : `${file}:${line}`)} ${markdownText(wrong)}`,
  );
  return [
    `### ${markdownCode(workspace)} failed`,
    lines.join('\n\n'),
    ...(places.length === 0 ? [] : [places.join('\n')]),
  ].join('\n\n');
}

export function failureGithub({ workspace, message, hint, diagnostics = [] }: WorkspaceFailure): string {
  const said = hint === undefined ? message : `${message} (${hint})`;
  return `${githubCommand('error', { title: `voxform ${workspace}: failed` }, said)}${diagnosticsGithub(diagnostics)}`;
}
