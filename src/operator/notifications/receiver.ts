import { UserError } from '../../problems/user-error.ts';
import { inputsFor, secretsIn } from '../../project/load-desired.ts';
import type { NotifyEvent, TextForm } from '../../project/notify-schema.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import type { JsonObject } from '../../values/json.ts';
import { Secret } from '../../values/value.ts';

/** A webhook whose URL and secrets are known. */
export interface Receiver {
  /** The URL. All of it may be secret, so it is never shown. */
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
  /** Problems of unusable webhooks. */
  readonly problems: readonly string[];
}

/** Returns the webhooks of a project, with their secrets resolved as in manifests. */
export async function receiversOf(opened: OpenWorkspace): Promise<Receivers> {
  const { project, workspace } = opened;
  const { env, redactor } = opened.context;
  await workspace.secrets.read(secretsIn(project.webhooks));
  const inputs = inputsFor({ project, workspace, env, mode: 'live' });
  const problems: string[] = [];
  const resolve = (form: TextForm): Secret | undefined => {
    const found = inputs.named(form);
    if (!('value' in found)) {
      problems.push(found.message);
      return undefined;
    }
    const name = '$env' in form ? form.$env : form.$secret;
    const secret = found.value instanceof Secret ? found.value : new Secret(name, String(found.value));
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
