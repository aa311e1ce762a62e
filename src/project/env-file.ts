import { statSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { readTextFile } from '../manifests/read-file.ts';
import type { Environment } from '../manifests/secret-reader.ts';
import { UserError } from '../problems/user-error.ts';
import { withoutUndefined } from '../values/json.ts';
import { ownVariables } from '../values/own-variables.ts';

const ENV_FILE = '.env';

/** Variables that control programs. The `.env` of a project must not set them. */
const CONTROL_VARIABLES =
  /^(PATH|HOME|USERPROFILE|SHELL|TMPDIR|(NODE|GIT|SSH|LD|DYLD|XDG|OTEL|NPM_CONFIG)_.*|((ALL|NO|HTTP|HTTPS)_PROXY))$/i;

const ASSIGNMENT =
  /^[^\S\n]*(?:export\s+)?[\w.-]+[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|[^\n'"`]?[^\n]*)[^\n]*$/gm;

/**
 * Adds the `.env` of a folder to the environment. Variables that are already set, even to an empty string, are unchanged.
 * @throws UserError if the file cannot be read or a line is invalid.
 */
export function withEnvFile(folder: string, env: Environment): Environment {
  const found = variablesIn(path.join(folder, ENV_FILE), 'Correct the file, or run with --no-env-file.');
  if (found === undefined) return env;
  const added = Object.entries(found).filter(([name]) => !CONTROL_VARIABLES.test(name));
  return ownVariables(Object.fromEntries(added), withoutUndefined(env));
}

/**
 * Returns the variables of a file; undefined if it does not exist or is a folder. A folder with this name belongs to another tool.
 * @throws UserError if the file cannot be read or a line is invalid. The message omits the line, which may be a secret.
 */
export function variablesIn(file: string, hint = 'Correct the file.'): Environment | undefined {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== false) return undefined;
  const fileError = (problem: string, line: number | undefined): UserError =>
    new UserError(`${file}${line === undefined ? '' : `:${line}`}: ${problem}`, { hint });
  const read = readTextFile(file);
  if ('problem' in read) throw fileError(read.problem.message, read.problem.line);
  const invalidLine = read.text
    .replaceAll('\r\n', '\n')
    .replace(ASSIGNMENT, (found) => found.replace(/[^\n]/g, ''))
    .split('\n')
    .findIndex((line) => line.trim() !== '' && !line.trim().startsWith('#'));
  if (invalidLine !== -1) throw fileError('expected NAME=value', invalidLine + 1);
  return ownVariables(parseEnv(read.text));
}
