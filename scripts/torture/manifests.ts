/*
 * Manifests whose records can be told apart on the platform: an agent by its name, a number by its nickname and a webhook by the end
 * of its URL, each of them the resource's own name.
 */

export function projectFile(base: { readonly url: string; readonly workspaceId: string }, more = ''): string {
  return `version: 1
workspaces:
  test:
    base_url: ${base.url}
    workspace_id: ${base.workspaceId}
    api_key: { $secret: VOXFORM_API_KEY }
${more}`;
}

export function agent(name: string, prompt = 'Be kind.'): string {
  return manifest('Agent', name, {
    name,
    llm_config: { model: 'gpt-4o', api_key: { $secret: 'PROVIDER_KEY' } },
    prompt_config: { prompt },
  });
}

export function webhook(name: string, more: object = {}): string {
  return manifest('Webhook', name, { url: `https://example.com/hooks/${name}`, retries: 3, ...more });
}

export function number(name: string, index: number, more: object = {}): string {
  const digits = `+1202555${String(index).padStart(4, '0')}`;
  return manifest('PhoneNumber', name, { number: digits, nickname: name, ...more });
}

export function user(name: string, more: object): string {
  return manifest('WorkspaceUser', name, { email: emailOf(name), ...more });
}

export function emailOf(name: string): string {
  return `${name}@example.com`;
}

export function manifest(kind: string, name: string, spec: object): string {
  return `${JSON.stringify({ apiVersion: 'voxform/v1', kind, metadata: { name }, spec }, null, 2)}\n`;
}

/** One file of several documents. */
export function documents(...manifests: readonly string[]): string {
  return manifests.join('---\n');
}

export const FIFTY = { agents: 24, webhooks: 10, numbers: 11, users: 5 } as const;

/** Fifty resources with references among them, and secrets wherever a spec can have one. */
export function fifty(prompt: string): string {
  const { agents, webhooks, numbers, users } = FIFTY;
  const reference = (index: number) => ({ $ref: `Agent/agent-${index}` });
  return documents(
    ...range(agents).map((index) =>
      manifest('Agent', `agent-${index}`, {
        name: `agent-${index}`,
        llm_config: {
          model: 'gpt-4o',
          api_key: { $secret: 'PROVIDER_KEY' },
          ...(index % 4 === 0 && { knowledge_base_ids: [{ $ref: 'KnowledgeBase/FAQ' }] }),
        },
        prompt_config: {
          prompt: index % 6 === 0 ? { $join: [prompt, { $secret: 'PROMPT_SECRET' }] } : `${prompt} ${index}`,
        },
        ...(index % 3 === 0 && { knowledge_base_config: { chunks_to_retrieve: index + 1 } }),
        tts_config: { voice_id: `voice-${index}`, backchannel_words: ['yes', 'right'] },
      }),
    ),
    ...range(webhooks).map((index) =>
      index === 0
        ? manifest('Webhook', 'hook-0', { url: { $secret: 'HOOK_URL' }, retries: 1, timeout: 10 })
        : webhook(`hook-${index}`, { timeout: 10 + index }),
    ),
    ...range(numbers).map((index) =>
      number(`number-${index}`, index, index % 2 === 0 ? { inbound_agent_id: reference(index) } : {}),
    ),
    ...range(users).map((index) =>
      user(`user-${index}`, {
        role: index === 0 ? 'owner' : 'member',
        modules: ['analytics', 'agents'],
        agent_ids: [reference(index), reference(agents - 1 - index)],
      }),
    ),
  );
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
