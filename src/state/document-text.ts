import { shellWord } from '../problems/shell-word.ts';
import { UserError } from '../problems/user-error.ts';
import { isDeeperThan, isObject } from '../values/json.ts';
import { parseInParts } from './document-parts.ts';
import { digestOf, isAsWritten } from './document-pieces.ts';
import { hasConflict, mergeConflict } from './merge-conflict.ts';
import { type MisplacedKey, misplacedKey } from './misplaced-keys.ts';
import {
  STATE_FORMAT_VERSION,
  type StateDocument,
  type WrittenDocument,
  writtenDocument,
} from './state-document.ts';
import { LostState, MovedState, movedMark } from './state-errors.ts';

/** Far deeper than what manifests can nest; whatever walks a state may then do so step into step. */
const DEEPEST = 500;

/**
 * Reads what `statePieces` wrote.
 * @param name how messages call it, e.g. its path.
 * @param hint what to do about a damaged one.
 * @throws LostState where it is damaged, or its content does not match its digest.
 * @throws MovedState where it only says where the state went.
 * @throws UserError where a newer voxform wrote it.
 */
export function parseState(bytes: Uint8Array, name: string, hint: string): StateDocument {
  const written = parseWritten(bytes, name, hint);
  const document = withoutDigest(written);
  if (written.format_version === 1 || isAsWritten(bytes) || written.write_digest === digestOf(document)) {
    return document;
  }
  throw new LostState(`the state ${name} was edited or damaged: its content does not match its digest`, {
    hint: `To keep an edit: voxform state push --force ${shellWord(name)}. ${hint}`,
  });
}

/** The same of a document that a person may have edited, whatever its digest says. */
export function parseEdited(bytes: Uint8Array, name: string, hint: string): StateDocument {
  return withoutDigest(parseWritten(bytes, name, hint));
}

function withoutDigest(written: WrittenDocument): StateDocument {
  if (written.format_version === 1) return { ...written, format_version: STATE_FORMAT_VERSION, write: '' };
  const { write_digest: _, ...document } = written;
  return document;
}

function parseWritten(bytes: Uint8Array, name: string, hint: string): WrittenDocument {
  const damaged = (reason: string, cause?: unknown): LostState =>
    new LostState(`the state ${name} is damaged: ${reason}`, { hint, cause });
  if (bytes.length === 0) throw damaged('it is empty');
  const inParts = parseInParts(bytes, DEEPEST);
  if (inParts !== undefined) return inParts;
  let value: unknown;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (hasConflict(text)) {
      throw mergeConflict({ text, name, word: shellWord(name) }, (side) =>
        parseEdited(Buffer.from(side), name, ''),
      );
    }
    value = JSON.parse(text);
  } catch (error) {
    throw error instanceof UserError ? error : damaged('it is invalid or truncated JSON', error);
  }
  const mark = movedMark.safeParse(value);
  if (mark.success) throw new MovedState(name, mark.data);
  if (
    isObject(value) &&
    typeof value.format_version === 'number' &&
    value.format_version > STATE_FORMAT_VERSION
  ) {
    const writer = typeof value.voxform_version === 'string' ? ` by voxform ${value.voxform_version}` : '';
    throw new UserError(
      `the state ${name} was written${writer} in format ${value.format_version}; this version of voxform reads formats up to ${STATE_FORMAT_VERSION}`,
      { hint: 'Upgrade voxform.' },
    );
  }
  const misplaced = misplacedKey(text);
  if (misplaced !== undefined) {
    throw new LostState(`the state ${name} is damaged: ${clauseOf(misplaced)}`, {
      hint: `If you edited it, fix or undo that edit. Otherwise: ${hint}`,
    });
  }
  if (isDeeperThan(value, DEEPEST)) throw damaged('it is nested too deeply');
  const parsed = writtenDocument.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? 'the top level' : issue.path.join(' > ');
  throw damaged(`at ${place}: ${issue?.message ?? 'unexpected content'}`);
}

function clauseOf({ key, line, problem }: MisplacedKey): string {
  return problem === 'twice'
    ? `line ${line} repeats the key ${JSON.stringify(key)}, and one of the two would be lost`
    : `line ${line} has the key ${JSON.stringify(key)}, whose content would be lost`;
}
