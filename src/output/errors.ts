import { PlatformError } from '../platform/platform-error.ts';
import { errorMessage } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import type { Reach } from '../problems/workspace-command.ts';
import { VERSION } from '../version.ts';
import { hintOf } from './error-json.ts';
import { escapeControls, escapedLines } from './escape-controls.ts';
import type { Style } from './style.ts';

interface ErrorOptions {
  /** Says what lies behind every error. */
  readonly verbose?: boolean;
  /** The command that was run, for a report. */
  readonly command?: string;
  /** The page where problems are reported. */
  readonly issues?: string;
  readonly reach?: Reach;
  /** Where the platform was looked for. */
  readonly baseUrl?: string;
  /** Strikes secrets out of what an error says, before lines are broken and characters escaped. */
  redact?(text: string): string;
}

/** An error for a person: what is wrong and what may help; for a mistake of ours the stack, and what to report. */
export function renderError(error: unknown, style: Style, options: ErrorOptions = {}): string {
  if (!(error instanceof UserError || error instanceof PlatformError))
    return unexpected(error, style, options);
  const text = expected(error, hintOf(error, options.reach, options.baseUrl), style, options);
  const requestId = error instanceof PlatformError ? error.facts.requestId : undefined;
  return requestId === undefined || error.message.includes(requestId)
    ? text
    : `${text}${labelled('       ', `request id: ${requestId}`, style)}\n`;
}

function expected(
  error: Error,
  hint: string | undefined,
  style: Style,
  { verbose, redact = String }: ErrorOptions,
): string {
  const lines = [
    labelled(style.error('error: '), redact(error.message), style),
    ...(hint === undefined ? [] : [labelled(style.dim('hint:  '), redact(hint), style)]),
    ...(verbose ? causesOf(error).map((cause) => labelled(style.dim('cause: '), redact(cause), style)) : []),
  ];
  return `${lines.join('\n')}\n`;
}

function unexpected(
  error: unknown,
  style: Style,
  { command, issues, redact = String }: ErrorOptions,
): string {
  const summary = redact(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  const where = issues === undefined ? 'Please report it' : `Please report it at ${issues}`;
  return [
    labelled(style.error('error: '), `this is a bug in voxform: ${summary}`, style),
    ...(error instanceof Error ? [style.dim(stackOf(error, redact))] : []),
    '',
    style.prose(`${where} with the output above; remove anything private first.`),
    `  version: voxform ${VERSION}`,
    ...(command === undefined ? [] : [`  command: ${escapeControls(command)}`]),
    '',
  ].join('\n');
}

/** The paragraphs of a message; every line after the first is indented, so that none can pass for a line of ours. */
function labelled(label: string, message: string, style: Style): string {
  const [first = '', ...rest] = message.split('\n');
  return [
    style.prose(first, { lead: label }),
    ...rest.map((line) => style.prose(line, { indent: 7 + indentOf(line), lead: guard(line) })),
  ].join('\n');
}

/** To GitHub Actions an indented line that begins with `::` is a command. */
function guard(line: string): string {
  return line.trimStart().startsWith('::') ? '| ' : '';
}

function indentOf(line: string): number {
  return Math.min(8, line.length - line.trimStart().length);
}

/** What lies behind an error, the nearest first; a cycle ends it. */
function behind(error: Error): unknown[] {
  const chain = new Set<unknown>();
  for (let next = error.cause; next !== undefined && next !== error && !chain.has(next); ) {
    chain.add(next);
    next = next instanceof Error ? next.cause : undefined;
  }
  return [...chain];
}

/** Messages, for whose stacks only we have a use. */
function causesOf(error: Error): string[] {
  return behind(error)
    .map(errorMessage)
    .filter((text) => text !== '' && !error.message.includes(text));
}

/** The stack and those of its causes, a line each frame. */
function stackOf(error: Error, redact: (text: string) => string): string {
  const stacks = [error, ...behind(error)].map((each, place) => {
    const text = each instanceof Error ? (each.stack ?? String(each)) : String(each);
    return (place === 0 ? '' : 'caused by: ') + text;
  });
  return stacks
    .map(redact)
    .flatMap(escapedLines)
    .map((line) => `    ${guard(line)}${line.trimStart()}`)
    .join('\n');
}
