import { fstatSync, readSync } from 'node:fs';
import path from 'node:path';
import { fileView } from '../files/file-view.ts';
import { realPathOf, withOpen } from '../files/input-files.ts';
import { attempt } from '../problems/attempt.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { errorCode } from '../problems/error-code.ts';

export const MAX_FILE_BYTES = 1024 * 1024;

interface FileFailure {
  readonly problem: Pick<Diagnostic, 'code' | 'message' | 'line' | 'column'>;
}

type FileText = { readonly text: string } | FileFailure;

type FileBytes = { readonly bytes: Uint8Array } | FileFailure;

/**
 * Reads a UTF-8 file. Returns its text without the byte order mark, or a problem.
 * @param inside the real path of a folder that must contain the real file; undefined permits any folder.
 */
export function readTextFile(file: string, inside?: string): FileText {
  return decoded(readFileBytes(file, inside));
}

/** Reads the bytes of a file, or returns a problem. Without a file view, the bytes are valid only until the next read. */
export function readFileBytes(file: string, inside?: string): FileBytes {
  try {
    if (inside !== undefined && !isInside(realPathOf(file), inside)) {
      return problem('outside-project', 'the file is outside the project folder; symbolic links must stay inside it');
    }
  } catch (error) {
    return unreadable(error);
  }
  const view = fileView();
  if (view === undefined) return bytesOnDisk(file);
  const text = view.textOf(realPath(file));
  if (text !== undefined) return text.length > MAX_FILE_BYTES ? tooLarge(text.length) : { bytes: text };
  return view.cached('bytes', file, () => {
    const read = bytesOnDisk(file);
    return 'bytes' in read ? { bytes: view.reuseBytes(file, read.bytes) } : read;
  });
}

function bytesOnDisk(file: string): FileBytes {
  try {
    return withOpen(file, readOpen);
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): FileFailure {
  const code = errorCode(error);
  if (code === 'EISDIR') return folderError();
  // Opening a socket fails with ENXIO.
  if (code === 'ENXIO') return noRegularFile();
  return problem('unreadable-file', `the file cannot be read: ${reasonOf(error)}`);
}

/** Returns the first 4 KiB of a file, or undefined if it cannot be read. */
export function readBeginning(file: string): string | undefined {
  const view = fileView();
  if (view === undefined) return beginningOnDisk(file);
  const text = view.textOf(realPath(file))?.subarray(0, BEGINNING_BYTES);
  return text === undefined ? view.cached('beginning', file, () => beginningOnDisk(file)) : looseUtf8.decode(text);
}

const BEGINNING_BYTES = 4096;

function beginningOnDisk(file: string): string | undefined {
  return attempt(() =>
    withOpen(file, (descriptor) => {
      if (!fstatSync(descriptor).isFile()) return undefined;
      const bytes = Buffer.alloc(BEGINNING_BYTES);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, 0)).toString('utf8');
    }),
  );
}

/** Shared by all reads, so that thousands of files need only one buffer. */
let sharedBuffer: Buffer | undefined;

function readOpen(descriptor: number): FileBytes {
  const status = fstatSync(descriptor);
  if (status.isDirectory()) return folderError();
  if (!status.isFile()) return noRegularFile();
  if (status.size > MAX_FILE_BYTES) return tooLarge(status.size);
  sharedBuffer ??= Buffer.allocUnsafe(MAX_FILE_BYTES + 1);
  let size = 0;
  let read: number;
  do {
    read = readSync(descriptor, sharedBuffer, size, sharedBuffer.length - size, null);
    size += read;
  } while (read > 0 && size !== status.size && size <= MAX_FILE_BYTES);
  return size > MAX_FILE_BYTES ? tooLarge(size) : { bytes: sharedBuffer.subarray(0, size) };
}

/** Returns true if `file` is `folder` or inside it. Both must be real, absolute paths. */
export function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === '' || !(relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
}

/** Resolves symbolic links. Returns the path unchanged if that fails. */
export function realPath(file: string): string {
  return attempt(() => realPathOf(file)) ?? file;
}

/** Describes an operating system error, as the end of a sentence. */
export function reasonOf(error: unknown): string {
  const code = errorCode(error);
  switch (code) {
    case 'ENOENT':
      return 'no such file';
    case 'EISDIR':
      return 'the path is a folder';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EROFS':
      return 'the disk is read-only';
    case 'ENOSPC':
      return 'the disk is full';
    case 'EFBIG':
      return 'it is larger than 512 MiB';
    case 'EPIPE':
      return 'nothing writes to this pipe';
    case 'ENXIO':
      return 'expected a file or a pipe';
    case 'ELOOP':
      return 'its symbolic links form a cycle';
    case 'ENAMETOOLONG':
      return 'its name is too long';
    case 'ENOTDIR':
      return 'a part of its path is not a folder';
    case 'ERR_INVALID_ARG_VALUE':
      return 'its path contains a NUL character';
    default:
      return code ?? 'the path is not valid';
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });
const looseUtf8 = new TextDecoder('utf-8');

/** Decodes UTF-8 and removes the byte order mark. */
export function decoded(file: FileBytes): FileText {
  if ('problem' in file) return file;
  try {
    return { text: strictUtf8.decode(file.bytes) };
  } catch {
    const before = looseUtf8.decode(file.bytes).split('\uFFFD', 1)[0] ?? '';
    const message = 'the file is not valid UTF-8; save it in that encoding';
    return { problem: { code: 'invalid-utf8', message, ...lineAndColumn(before, before.length) } };
  }
}

function tooLarge(bytes: number): FileFailure {
  return problem('file-too-large', `the file has ${bytes} bytes, more than 1 MiB (${MAX_FILE_BYTES}); split it`);
}

function folderError(): FileFailure {
  return problem('not-a-file', 'expected a file, got a folder');
}

function noRegularFile(): FileFailure {
  return problem('not-a-file', 'expected a regular file');
}

function problem(code: string, message: string): FileFailure {
  return { problem: { code, message } };
}

export function withoutFinalNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}

export function lineAndColumn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
