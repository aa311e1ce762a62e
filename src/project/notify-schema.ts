import { z } from 'zod';
import { didYouMean } from '../problems/suggest.ts';
import { about, describedObject } from '../values/described.ts';
import { isObject } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';

export const notifyEvents = ['changes', 'failure', 'drift'] as const;

/** The events that a webhook can receive. */
export type NotifyEvent = (typeof notifyEvents)[number];

/** The placeholders that a template may contain between `{{` and `}}`. */
const placeholders = [
  'event',
  'text',
  'workspace',
  'workspace_id',
  'mode',
  'result',
  'run',
  'time',
  'commit',
  'changed',
  'failed',
  'drifted',
  'resources',
  'error',
  'url',
] as const;

export type Placeholder = (typeof placeholders)[number];

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

const secretForm = () =>
  z.strictObject({
    $secret: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, { error: 'expected a secret name' })
      .describe('Name of the secret.'),
  });
const envForm = () =>
  z.strictObject({
    $env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'expected a variable name' })
      .describe('Name of the environment variable.'),
  });

/** The schema of a value that must not be in the project file as plain text. */
export const secretOrEnvForm = () =>
  z.union([secretForm(), envForm()], {
    error: 'must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }',
  });

const NOT_A_URL = 'expected an http or https URL, { $env: NAME } or { $secret: NAME }';

const template = lazy(() =>
  z
    .record(z.string(), z.json())
    .meta({
      description: `Body to send, with the placeholders {{${placeholders.join('}}, {{')}}}; default: { text: "{{text}}" } and more.`,
      examples: [{ title: '{{event}}', body: '{{text}}' }],
    })
    .superRefine((value, context) => {
      for (const { name, path } of placeholdersIn(value)) {
        if ((placeholders as readonly string[]).includes(name)) continue;
        const near = didYouMean(name, placeholders) || `; placeholders: ${placeholders.join(', ')}`;
        context.addIssue({ code: 'custom', message: `unknown placeholder {{${name}}}${near}`, path });
      }
    }),
);

const webhookSchema = lazy(() =>
  describedObject('A webhook for notifications of watch.', {
    url: z
      .union([z.url({ protocol: /^https?$/, error: NOT_A_URL }), envForm(), secretForm()], {
        error: NOT_A_URL,
      })
      .meta(about('URL to send to. Use { $secret: NAME } for a secret URL.', { $secret: 'CHAT_WEBHOOK' })),
    secret_header: describedObject('Header that authenticates voxform to the receiver.', {
      name: z
        .string()
        .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { error: 'expected a header name' })
        .meta({ description: 'Name of the header, such as Authorization.', examples: ['Authorization'] }),
      value: secretOrEnvForm().meta({
        description: 'Value of the header, as { $secret: NAME } or { $env: NAME }.',
        examples: [{ $secret: 'HOOK_HEADER' }],
      }),
    }).optional(),
    on: z
      .array(z.enum(notifyEvents))
      .min(1)
      .meta(about('Events to send: changes, failure, drift; default: all.', ['failure', 'drift']))
      .optional(),
    template: template().optional(),
  }),
);

/** The maximum number of webhooks. Each of them has its own connection and its own queue. */
const MAX_WEBHOOKS = 20;

export const notifySchema = lazy(() =>
  z.array(webhookSchema()).max(MAX_WEBHOOKS).describe('Webhooks for notifications of watch.'),
);

export type Webhook = z.infer<ReturnType<typeof webhookSchema>> & { readonly on: NotifyEvent[] };

/** A `$secret` or `$env` form, for a value that the project file must not contain. */
export type TextForm = Exclude<Webhook['url'], string>;

export function fillPlaceholders(text: string, textOf: (name: Placeholder) => string): string {
  return text.replace(PLACEHOLDER, (_, name: string) => textOf(name.trim() as Placeholder));
}

function* placeholdersIn(
  value: unknown,
  path: readonly (string | number)[] = [],
): Generator<{ readonly name: string; readonly path: (string | number)[] }> {
  if (typeof value === 'string') {
    for (const [, name = ''] of value.matchAll(PLACEHOLDER)) yield { name: name.trim(), path: [...path] };
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* placeholdersIn(item, [...path, index]);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) yield* placeholdersIn(item, [...path, key]);
  }
}
