import type { PlanDocument, PlannedChange, PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { inDashboard } from '../step-texts.ts';

/** A plan with an example of every feature. */

const prompt = [
  'You are the support line of Acme.',
  'Answer in one or two sentences.',
  '',
  '## Opening hours',
  'Monday to Friday, 9 to 17.',
  '',
  '## Refunds',
  'Ask for the order number first.',
  'Never promise a date.',
  '',
  '## Closing',
  'Thank the caller.',
];

const newPrompt = prompt
  .with(4, 'Monday to Saturday, 9 to 18.')
  .with(11, 'Thank the caller, and say goodbye by name.')
  .join('\n');

export function change(path: string, rest: Partial<PlannedChange> = {}): PlannedChange {
  return { path, cause: 'manifest', verified: true, sensitive: false, ...rest };
}

export function resource(address: string, rest: Partial<PlannedResource> = {}): PlannedResource {
  return {
    address,
    kind: address.split('/')[0] ?? '',
    action: 'noop',
    id: '01JAGENT000000000000000001',
    source: { file: 'manifests/agents.yaml', line: 3 },
    reason: 'in sync',
    changes: [],
    depends_on: [],
    ...rest,
  };
}

export function plan(resources: readonly PlannedResource[], rest: Partial<PlanDocument> = {}): PlanDocument {
  const count = (action: PlannedResource['action']) => resources.filter((one) => one.action === action).length;
  return {
    format_version: 1,
    voxform_version: '0.1.0',
    workspace: 'staging',
    workspace_id: '01JWORKSPACE0000000000000A',
    base_url: 'https://staging.example.com',
    state: { lineage: 'lineage-1', serial: 12, salt: 'c2FsdA==' },
    refreshed: true,
    summary: {
      create: count('create'),
      update: count('update'),
      replace: count('replace'),
      adopt: count('adopt'),
      forget: count('forget'),
      manual: count('manual'),
      blocked: count('blocked'),
      unknown: count('unknown'),
      noop: count('noop'),
    },
    secrets: {},
    resources: resources.toSorted((a, b) => (a.address < b.address ? -1 : 1)),
    guards: [],
    warnings: [],
    ...rest,
  };
}

export const richPlan = plan(
  [
    resource('Agent/billing', {
      action: 'create',
      id: null,
      reason: 'not in the workspace yet',
      changes: [
        change('llm_config.api_key', { sensitive: true, verified: false, fingerprints: { after: 'f1' } }),
        change('llm_config.knowledge_base_ids', { after: ['01JKB000000000000000000001'] }),
        change('llm_config.model', { after: 'gpt-4o' }),
        change('llm_config.tools', {
          after: [
            { type: 'transfer', to: '+4915112345', when: 'the caller asks for a person', notify: true },
            { type: 'hangup', after: 30 },
            { $secret: 'TOOL_TOKEN' },
          ],
        }),
        change('name', { after: 'Billing' }),
        change('prompt_config.prompt', { after: prompt.join('\n') }),
        change('prompt_config.welcome_message', { after: null }),
      ],
    }),
    resource('Agent/old-line', {
      action: 'forget',
      source: null,
      reason: 'removed from the manifests: 01JAGENT000000000000000001 stays on the platform as an orphan',
    }),
    resource('Agent/sales', { unverified: ['knowledge_base_config.chunks_to_retrieve', 'llm_config.tools'] }),
    resource('Agent/reception', {
      reason: 'renamed from Agent/front-desk',
      previous_address: 'Agent/front-desk',
      notices: ['its draft is newer than its published version 4'],
    }),
    resource('Agent/support-line', {
      action: 'update',
      id: '01JAGENT000000000000000002',
      source: { file: 'manifests/agents.yaml', line: 31 },
      reason: "the manifest and the platform both changed: this overwrites someone else's change",
      notices: ['its draft is newer than its published version 2'],
      released: ['tts_config.emotion'],
      routes: [
        {
          kind: 'PhoneNumber',
          id: '01JNUMBER00000000000000001',
          address: 'PhoneNumber/main',
          label: '+4930999999 (Main)',
          ways: ['inbound', 'outbound'],
        },
        {
          kind: 'PhoneNumber',
          id: '01JNUMBER00000000000000002',
          address: null,
          label: '+4930123',
          ways: ['inbound'],
        },
      ],
      unverified: ['knowledge_base_config.chunks_to_retrieve'],
      changes: [
        change('knowledge_base_config.chunks_to_retrieve', { before: 3, after: 5, verified: false }),
        change('llm_config.api_key', {
          sensitive: true,
          verified: false,
          fingerprints: { before: 'f2', after: 'f1' },
        }),
        change('llm_config.endpoint', {
          before: 'https://eu.models.example.com/deployments/support-2024-11',
          after: 'https://eu.models.example.com/deployments/support',
        }),
        change('llm_config.temperature', { before: 0.7, after: 0.2, cause: 'drift' }),
        change('prompt_config.prompt', { before: prompt.join('\n'), after: newPrompt, cause: 'both' }),
        change('tts_config.speed', { after: '1.1', verified: false }),
      ],
    }),
    resource('PhoneNumber/hotline', {
      action: 'create',
      id: null,
      source: { file: 'manifests/numbers.yaml', line: 1 },
      reason: 'not in the workspace yet',
      changes: [
        change('inbound_agent_id', { after: { unknown_until_apply: 'Agent/billing' }, manual: true }),
        change('nickname', { after: 'Hotline' }),
        change('number', { after: '+4930123456' }),
      ],
      steps: [inDashboard('In the dashboard, set the inbound agent of number +4930123456 to the agent Agent/billing.')],
      depends_on: ['Agent/billing'],
    }),
    resource('PhoneNumber/main', {
      action: 'manual',
      id: '01JNUMBER00000000000000001',
      source: { file: 'manifests/numbers.yaml', line: 12 },
      reason: 'the API cannot change this',
      changes: [change('nickname', { before: 'Main', after: 'Main line', manual: true })],
      steps: [inDashboard('In the dashboard, rename number +4930999999 to "Main line".')],
    }),
    resource('Webhook/calls', {
      action: 'replace',
      id: '01JWEBHOOK0000000000000001',
      source: { file: 'manifests/webhooks.yaml', line: 1 },
      reason:
        'retries cannot be updated: a new record replaces 01JWEBHOOK0000000000000001, which stays on the platform until you delete it',
      changes: [change('retries', { before: 3, after: 5 })],
    }),
    resource('Webhook/audit', {
      action: 'blocked',
      id: '01JWEBHOOK0000000000000002',
      source: { file: 'manifests/webhooks.yaml', line: 14 },
      reason: 'timeout cannot be updated',
      steps: [{ action: 'replace', address: 'Webhook/audit', id: '01JWEBHOOK0000000000000002' }],
      changes: [change('timeout', { before: 10, after: 20 })],
    }),
    resource('Webhook/events', {
      action: 'unknown',
      id: null,
      source: { file: 'manifests/webhooks.yaml', line: 27 },
      reason: 'the create sent at 2030-01-02T03:04:05.000Z was not confirmed: the record may or may not exist',
      steps: [
        { action: 'import', address: 'Webhook/events', id: null, reason: 'found' },
        { action: 'resolve_not_created', address: 'Webhook/events' },
      ],
    }),
    resource('WorkspaceUser/anna', {
      action: 'adopt',
      id: '01JUSER0000000000000000001',
      source: { file: 'manifests/users.yaml', line: 1 },
      reason: 'exists on the platform, not managed yet',
      adopted: true,
    }),
    resource('WorkspaceUser/ben', {
      action: 'update',
      id: '01JUSER0000000000000000002',
      source: { file: 'manifests/users.yaml', line: 9 },
      reason: 'exists on the platform and differs from the manifest',
      adopted: true,
      changes: [
        change('modules', { before: ['agents', 'analytics'], after: ['agents'] }),
        change('role', { before: 'owner', after: 'admin' }),
      ],
    }),
    resource('WorkspaceUser/carla', {
      action: 'manual',
      id: null,
      source: { file: 'manifests/users.yaml', line: 17 },
      reason: 'not in the workspace yet',
      steps: [inDashboard('In the dashboard, invite carla@example.com to the workspace.')],
    }),
  ],
  {
    guards: [
      {
        guard: 'owner_change',
        message: 'WorkspaceUser/ben is a workspace owner, and its role would change',
      },
    ],
    warnings: [
      {
        address: 'Agent/support-line',
        message:
          'tts_config.emotion was removed from the manifest and is no longer sent. The platform does not return it, and may erase it when tts_config is resent.',
      },
      {
        address: 'Webhook/calls',
        message: '01JWEBHOOK0000000000000001 stays active and becomes an orphan: delete it in the dashboard',
      },
      { address: null, message: 'the state file is tracked by Git and no remote backend is configured' },
    ],
  },
);
