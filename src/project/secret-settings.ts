import { z } from 'zod';
import { globSetting } from '../manifests/glob.ts';
import { about } from '../values/described.ts';
import { lazy } from '../values/lazy.ts';
import { durationSetting } from './duration.ts';

const nonEmptyString = () => z.string().min(1);

const PLACEHOLDER = /\{(name|workspace|project)\}/;

const commandSource = () =>
  z
    .strictObject({
      command: z
        .array(nonEmptyString())
        .min(1)
        .meta({
          description:
            'Program and arguments, run without a shell in the project folder. {name}, {workspace} and {project} are replaced in arguments. With {name}, the command runs once for each secret.',
          examples: [['pass', 'show', 'voices/{name}']],
        }),
      names: z
        .array(globSetting())
        .min(1)
        .meta({
          description: 'Names of the secrets that the command can print; * matches any characters. Default: all.',
          examples: [['OPENAI_*']],
        })
        .optional(),
      format: z
        .enum(['text', 'json', 'dotenv'])
        .meta({
          description:
            'Format of the output: one secret (text, the default), an object of secrets (json), or NAME=value lines (dotenv).',
          examples: ['json'],
        })
        .optional(),
      timeout: durationSetting('1s', '5m')
        .meta({ description: 'Timeout of the command; default: 10s.', examples: ['30s'] })
        .optional(),
    })
    .refine(({ command: [program = ''] }) => !PLACEHOLDER.test(program), {
      error: 'expected a program without placeholders; use them only in its arguments',
      path: ['command', 0],
    })
    .refine(
      ({ command: [, ...args], format = 'text', names = [] }) =>
        format !== 'text' ||
        args.some((each) => each.includes('{name}')) ||
        (names.length === 1 && !names[0]?.includes('*')),
      {
        error:
          'would return the same value for each secret: use {name} in an argument, a single name in names, or another format',
        path: ['command'],
      },
    );

const ALLOWED_SOURCES =
  'expected environment, keychain, { env_file: FILE }, { folder: FOLDER } or { command: [PROGRAM, ARGUMENT, ...] }';

export const secretsSchema = lazy(() =>
  z
    .array(
      z.union(
        [
          z.enum(['environment', 'keychain']),
          z.strictObject({
            env_file: nonEmptyString().meta(about('File with NAME=value lines, relative to this file.', '.env')),
          }),
          z.strictObject({
            folder: nonEmptyString().meta(about('Folder with one file per secret.', '/run/secrets/voxform')),
          }),
          commandSource(),
        ],
        { error: ALLOWED_SOURCES },
      ),
    )
    .min(1)
    .meta({
      description:
        'Sources of secrets, in order of precedence. Default: the environment, .env and secrets_dir. A workspace may have its own list.',
      examples: [['environment', { command: ['pass', 'show', 'voices/{name}'] }]],
    }),
);

export type SecretSettings = z.infer<ReturnType<typeof secretsSchema>>;
