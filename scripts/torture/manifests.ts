/* Manifests whose records carry the name of the resource: as the name of an agent, the nickname of a number, and the end of a webhook's URL. */

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

export function manifest(kind: string, name: string, spec: object, metadata: object = {}): string {
  const document = { apiVersion: 'voxform/v1', kind, metadata: { name, ...metadata }, spec };
  return `${JSON.stringify(document, null, 2)}\n`;
}

export function documents(...manifests: readonly string[]): string {
  return manifests.join('---\n');
}

export const FIFTY = { agents: 24, webhooks: 10, numbers: 11, users: 5 } as const;

/**
 * Returns fifty resources with references, and with secrets wherever a spec allows them. The second edition updates every agent, renames
 * some, replaces every webhook, and removes one agent and one webhook.
 */
export function fifty(edition: 1 | 2): string {
  const { agents, webhooks, numbers, users } = FIFTY;
  const isNew = edition === 2;
  const prompt = promptOf(edition);
  const agentName = (index: number) => (isNew && index % 7 === 3 ? `agent-${index}${RENAMED}` : `agent-${index}`);
  const reference = (index: number) => ({ $ref: `Agent/${agentName(index)}` });
  return documents(
    ...range(isNew ? agents - 1 : agents).map((index) =>
      manifest(
        'Agent',
        agentName(index),
        {
          name: agentName(index),
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
        },
        agentName(index) === `agent-${index}` ? {} : { previous_names: [`agent-${index}`] },
      ),
    ),
    ...range(isNew ? webhooks - 1 : webhooks).map((index) =>
      manifest(
        'Webhook',
        `hook-${index}`,
        {
          url: index === 0 ? { $secret: 'HOOK_URL' } : `https://example.com/hooks/hook-${index}`,
          timeout: 10 * edition,
        },
        { replace: 'allow' },
      ),
    ),
    ...range(numbers).map((index) =>
      number(`number-${index}`, index, index % 2 === 0 ? { inbound_agent_id: reference(index) } : {}),
    ),
    ...range(users).map((index) =>
      user(`user-${index}`, {
        role: index === 0 ? 'owner' : 'member',
        modules: isNew ? ['analytics'] : ['analytics', 'agents'],
        agent_ids: [reference(index), reference(agents - 2 - index)],
      }),
    ),
  );
}

/** The number of resources in an edition. */
export function sizeOf(edition: 1 | 2): number {
  return edition === 1 ? 50 : 48;
}

/** The beginning of every prompt in an edition. */
export function promptOf(edition: 1 | 2): string {
  return edition === 1 ? 'Be kind.' : 'Be brief.';
}

/** The suffix of a new name. During a rename, the record may have either name. */
const RENAMED = '-renamed';

/** Returns the address of a resource in the first edition. */
export function firstAddress(address: string): string {
  return address.endsWith(RENAMED) ? address.slice(0, -RENAMED.length) : address;
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
