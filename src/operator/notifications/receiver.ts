import { UserError } from '../../problems/user-error.ts';
import { inputsFor, secretsIn } from '../../project/load-desired.ts';
import type { NotifyEvent, TextForm } from '../../project/notify-schema.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import type { JsonObject } from '../../values/json.ts';
import { Secret } from '../../values/value.ts';

/** A webhook with resolved secrets. */
export interface Receiver {
  /** The URL. Any part of the URL may be secret, so it is never displayed. */
  readonly url: Secret;
  /** The scheme and host of the URL, for messages. */
  readonly shown: string;
  readonly header: { readonly name: string; readonly value: Secret } | undefined;
  readonly on: readonly NotifyEvent[];
  readonly template: JsonObject | undefined;
  readonly network: ReturnType<OpenWorkspace['network']>;
}

export interface Receivers {
  readonly receivers: readonly Receiver[];
  /** The reasons why webhooks cannot be used. */
  readonly problems: readonly string[];
}

/** Returns the webhooks of a project. Their secrets are resolved in the same way as those of manifests. */
export async function receiversOf(opened: OpenWorkspace): Promise<Receivers> {
  const { project, workspace } = opened;
  const { env, redactor } = opened.context;
  await workspace.secrets.read(secretsIn(project.webhooks));
  const inputs = inputsFor({ project, workspace, env, mode: 'live' });
  const problems: string[] = [];
  const resolve = (form: TextForm): Secret | undefined => {
    const input = inputs.named(form);
    if (!('value' in input)) {
      problems.push(input.message);
      return undefined;
    }
    const name = '$env' in form ? form.$env : form.$secret;
    const secret = input.value instanceof Secret ? input.value : new Secret(name, String(input.value));
    redactor.add(secret.reveal());
    return secret;
  };
  const receivers = project.webhooks.flatMap((webhook): Receiver[] => {
    const url = typeof webhook.url === 'string' ? new Secret('url', webhook.url) : resolve(webhook.url);
    const { secret_header: secretHeader, on } = webhook;
    const template = webhook.template as JsonObject | undefined;
    const value = secretHeader && resolve(secretHeader.value);
    if (url === undefined || (secretHeader !== undefined && value === undefined)) return [];
    const shown = serverOf(url);
    if (shown === undefined) {
      problems.push(`${url.name} is not an http or https URL`);
      return [];
    }
    const header = secretHeader && value && { name: secretHeader.name, value };
    if (header !== undefined && !/^[\x20-\x7e]*$/.test(header.value.reveal())) {
      problems.push(`${header.value.name} is not a valid header value`);
      return [];
    }
    try {
      return [{ url, shown, header, on, template, network: opened.network(url.reveal()) }];
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message);
      return [];
    }
  });
  return { receivers, problems };
}

/** Returns the scheme and host of a URL; undefined if it is not an http or https URL. */
export function serverOf(url: Secret): string | undefined {
  const text = url.reveal();
  if (!URL.canParse(text)) return undefined;
  const { protocol, host } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? `${protocol}//${host}` : undefined;
}
