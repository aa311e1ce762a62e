import { PlatformError } from '../platform/platform-error.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { errorChain, errorMessage } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { WorkspaceFailure } from '../runs/plans-document.ts';
import { VERSION } from '../version.ts';
import { renderDiagnostics } from './diagnostics.ts';
import type { ErrorDocument } from './error-json-schema.ts';
import { escapeControls, escapedLines } from './escape-controls.ts';
import { helpText } from './next-steps.ts';
import { plural } from './plural.ts';
import type { Style } from './style.ts';

interface ErrorOptions {
  /** True to print the causes of the error. */
  readonly verbose?: boolean;
  readonly command?: string;
  /** The URL for bug reports. */
  readonly issues?: string;
  readonly selection?: WorkspaceSelection;
  readonly baseUrl?: string;
  /** Redacts secrets. Must be called before the text is wrapped and escaped. */
  redact?(text: string): string;
}

/** Formats an error for the user, with its hint. For a bug, the result contains the stack and the facts for a bug report. */
export function renderError(error: unknown, style: Style, options: ErrorOptions = {}): string {
  if (!(error instanceof UserError || error instanceof PlatformError)) return renderBug(error, style, options);
  const { verbose, redact = String, selection, baseUrl } = options;
  const hint = hintOf(error, selection, baseUrl);
  const requestId = error instanceof PlatformError ? error.facts.requestId : undefined;
  const isNew = requestId !== undefined && !error.message.includes(requestId);
  const lines = [
    withLabel(style.error('error: '), redact(error.message), style),
    ...(hint === undefined ? [] : [withLabel(style.dim('hint:  '), redact(hint), style)]),
    ...(verbose ? causesOf(error).map((cause) => withLabel(style.dim('cause: '), redact(cause), style)) : []),
    ...(isNew ? [withLabel('       ', `request id: ${requestId}`, style)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function renderBug(error: unknown, style: Style, { command, issues, redact = String }: ErrorOptions): string {
  const where = issues === undefined ? 'Please report it' : `Please report it at ${issues}`;
  return [
    withLabel(style.error('error: '), redact(bugText(error)), style),
    ...(error instanceof Error ? [style.dim(stackOf(error, redact))] : []),
    '',
    style.prose(`${where} with the output above; remove anything private first.`),
    `  version: voxform ${VERSION}`,
    ...(command === undefined ? [] : [`  command: ${escapeControls(command)}`]),
    '',
  ].join('\n');
}

function bugText(error: unknown): string {
  return `this is a bug in voxform: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
}

/** Formats a message. Lines after the first are indented, so that no line of the message can look like a line of voxform itself. */
function withLabel(label: string, message: string, style: Style): string {
  const [first = '', ...rest] = message.split('\n');
  return [
    style.prose(first, { lead: label }),
    ...rest.map((line) => {
      const indent = Math.min(8, line.length - line.trimStart().length);
      return style.prose(line, { indent: 7 + indent, lead: guardPrefix(line) });
    }),
  ].join('\n');
}

/** Returns a prefix for a line that starts with `::` after optional spaces, because GitHub Actions would run the line as a command. */
function guardPrefix(line: string): string {
  return line.trimStart().startsWith('::') ? '| ' : '';
}

/** Returns the messages of the causes that the message of the error does not already contain. */
function causesOf(error: Error): string[] {
  return [...errorChain(error)]
    .slice(1)
    .map(errorMessage)
    .filter((text) => text !== '' && !error.message.includes(text));
}

/** Returns the stack of an error and of its causes, one frame per line. */
function stackOf(error: Error, redact: (text: string) => string): string {
  const stacks = [...errorChain(error)].map((each, index) => {
    const text = each instanceof Error ? (each.stack ?? String(each)) : String(each);
    return (index === 0 ? '' : 'caused by: ') + text;
  });
  return stacks
    .map(redact)
    .flatMap(escapedLines)
    .map((line) => `    ${guardPrefix(line)}${line.trimStart()}`)
    .join('\n');
}

export interface ErrorContext {
  readonly exitCode: number;
  readonly selection?: WorkspaceSelection;
  redact(text: string): string;
}

/** Returns an error as JSON, without the stack of a bug, which is printed only to stderr. */
export function errorJson(error: unknown, { exitCode, selection, redact }: ErrorContext): ErrorDocument {
  const { diagnostics = [], message, ...rest } = factsOf(error, hintOf(error, selection, undefined), redact);
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return {
    error: {
      message: diagnostics.length > 0 ? `${plural(errors, 'error')} in the project` : message,
      ...rest,
      exit_code: exitCode,
      diagnostics,
      ...(error instanceof PlatformError && { request: requestOf(error) }),
    },
  };
}

/** Returns the facts of an error without secrets and without the fixes for editors. */
function factsOf(error: unknown, hint: string | undefined, redact: (text: string) => string) {
  const diagnostics = diagnosticsOf(error)?.map(({ fix: _, ...each }) => ({ ...each, message: redact(each.message) }));
  return {
    message: redact(isBug(error) ? bugText(error) : errorMessage(error)),
    ...(hint !== undefined && { hint: redact(hint) }),
    ...(diagnostics !== undefined && { diagnostics }),
  };
}

/** Returns the diagnostics of the manifests and the project file, if the error has any. */
export function diagnosticsOf(error: unknown): readonly Diagnostic[] | undefined {
  return error instanceof Error && 'diagnostics' in error && Array.isArray(error.diagnostics)
    ? error.diagnostics
    : undefined;
}

/** Returns the hint of an error as text. `baseUrl` is the address of the platform. */
function hintOf(error: unknown, selection: WorkspaceSelection, baseUrl: string | undefined): string | undefined {
  if (error instanceof PlatformError) return platformHint(error, baseUrl);
  return error instanceof UserError ? helpText(error, selection) : undefined;
}

function requestOf({ reason, facts }: PlatformError): NonNullable<ErrorDocument['error']['request']> {
  const { method, path, outcome, status, code, requestId } = facts;
  return {
    ...{ method, path, reason },
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(requestId !== undefined && { request_id: requestId }),
    outcome,
  };
}

/** Returns the hint for a failed request, or undefined if the message is sufficient. */
function platformHint(error: PlatformError, baseUrl: string | undefined): string | undefined {
  const where = baseUrl === undefined ? 'base_url' : `base_url (${baseUrl})`;
  switch (error.reason) {
    case 'status':
      return statusHint(error);
    case 'gateway':
      if (error.status === 403)
        return `check the workspace's ${where}; if it is right, a gateway or firewall in front of the platform refuses this request: ask its operators to allow it`;
      return `check the workspace's ${where}; if it is right, a gateway in front of the platform is failing: try again later`;
    case 'network':
      if (error.facts.closedLocalPort !== undefined) {
        const port = /:(\d+)$/.exec(error.facts.closedLocalPort)?.[1] ?? '80';
        return `no server is listening there; start the emulator with \`voxform emulator --port ${port}\`, or check the workspace's ${where}`;
      }
      if (error.facts.undecodable === true)
        return `the response could not be decompressed; check the workspace's ${where} and any proxy in front of it${lostNote(error)}`;
      if (error.facts.atProxy === true)
        return 'check the address, the user name and the password of the proxy in HTTPS_PROXY or HTTP_PROXY; to bypass the proxy, set NO_PROXY';
      return `the platform is unreachable; check the workspace's ${where}, the network and any proxy${lostNote(error)}`;
    case 'timeout':
      return `the platform took too long to respond; raise limits.timeout_seconds in voxform.yaml, or try again later${lostNote(error)}`;
    case 'aborted':
      return error.outcome === 'lost'
        ? 'the request was cancelled in flight; the next plan shows whether it succeeded'
        : undefined;
    case 'held-back':
    case 'empty':
      return undefined;
    case 'malformed':
      return `the response does not match the API documentation; check that the workspace's ${where} is the platform's address, without /api/v1`;
    case 'redirect':
      return `set the workspace's ${where} to the final address; voxform does not follow redirects, to protect the API key`;
    case 'too-large':
    case 'cursor-loop':
      if (error.facts.firstCalls !== undefined)
        return `to show these calls, without a date range: voxform get calls --limit ${error.facts.firstCalls}`;
      return 'voxform cannot use this response; try again, and report the problem to the platform if it persists';
    default:
      return error.reason satisfies never;
  }
}

function statusHint(error: PlatformError): string | undefined {
  const { status = 0, field, method } = error.facts;
  if (status === 401)
    return "the API key was rejected; check the workspace's api_key in voxform.yaml, or VOXFORM_API_KEY, and whether the key has expired";
  if (status === 403) return 'the API key lacks permission; check that it belongs to workspace_id';
  if (status === 404 || status === 410)
    return "not found; check the workspace's base_url and workspace_id, and whether the record exists";
  if (status === 408) return `try again later${lostNote(error)}`;
  if (status === 429)
    return 'rate limited; set limits.requests_per_second or a lower limits.concurrency in voxform.yaml, or try again later';
  if (status >= 500) return `the platform is failing; try again later${lostNote(error)}`;
  // Only a write sends values from a manifest.
  return field === undefined || method === 'GET'
    ? undefined
    : `the platform rejected ${field}: change it in the manifest`;
}

function lostNote({ outcome }: PlatformError): string {
  return outcome === 'lost' ? '. The request may have succeeded; the next plan will check' : '';
}

/** Returns the error of a workspace as data without secrets. */
export function failureOf(
  error: unknown,
  { workspace, baseUrl }: { readonly workspace: string; readonly baseUrl: string },
  redact: (text: string) => string,
): WorkspaceFailure {
  return { workspace, ...factsOf(error, hintOf(error, { workspace }, baseUrl), redact) };
}

export function isBug(error: unknown): boolean {
  const isExpected = error instanceof UserError || error instanceof PlatformError;
  return !isExpected && diagnosticsOf(error) === undefined;
}

export function failureText(failure: WorkspaceFailure, style: Style): string {
  const { workspace, message, hint, diagnostics = [] } = failure;
  const error = new UserError(message, hint === undefined ? {} : { hint });
  return `Workspace ${escapeControls(workspace)}\n\n${renderError(error, style)}${renderDiagnostics(diagnostics, style)}`;
}
