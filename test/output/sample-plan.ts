import type { PlanDocument, PlannedChange, PlannedResource } from '../../src/engine/plan-document.ts';

/** A plan with something of everything. */

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
    reason: 'Nothing differs.',
    changes: [],
    depends_on: [],
    ...rest,
  };
}

export function plan(resources: readonly PlannedResource[], rest: Partial<PlanDocument> = {}): PlanDocument {
  const count = (action: PlannedResource['action']) =>
    resources.filter((one) => one.action === action).length;
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
    resources: [...resources],
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
      reason: 'The state does not know it.',
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
      reason: 'No manifest declares it any more.',
    }),
    resource('Agent/sales', { unverified: ['knowledge_base_config.chunks_to_retrieve', 'llm_config.tools'] }),
    resource('Agent/reception', {
      previous_address: 'Agent/front-desk',
      notices: ['its draft is newer than its published version 4'],
    }),
    resource('Agent/support-line', {
      action: 'update',
      id: '01JAGENT000000000000000002',
      source: { file: 'manifests/agents.yaml', line: 31 },
      reason: 'The manifest and the platform both changed.',
      notices: ['its draft is newer than its published version 2'],
      released: ['tts_config.emotion'],
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
      reason: 'The platform has no such number.',
      changes: [
        change('inbound_agent_id', { after: { unknown_until_apply: 'Agent/billing' }, manual: true }),
        change('nickname', { after: 'Hotline' }),
        change('number', { after: '+4930123456' }),
      ],
      steps: ['In the dashboard, set the inbound agent of number +4930123456 to Agent/billing.'],
      depends_on: ['Agent/billing'],
    }),
    resource('PhoneNumber/main', {
      action: 'manual',
      id: '01JNUMBER00000000000000001',
      source: { file: 'manifests/numbers.yaml', line: 12 },
      reason: 'No endpoint changes a number.',
      changes: [change('nickname', { before: 'Main', after: 'Main line', manual: true })],
      steps: ['In the dashboard, rename number +4930999999 to Main line.'],
    }),
    resource('Webhook/calls', {
      action: 'replace',
      id: '01JWEBHOOK0000000000000001',
      source: { file: 'manifests/webhooks.yaml', line: 1 },
      reason: 'A webhook cannot be changed, and metadata.replace allows another one.',
      changes: [change('retries', { before: 3, after: 5 })],
    }),
    resource('Webhook/audit', {
      action: 'blocked',
      id: '01JWEBHOOK0000000000000002',
      source: { file: 'manifests/webhooks.yaml', line: 14 },
      reason: 'A webhook cannot be changed; set metadata.replace: allow to put a new one in its place.',
      changes: [change('timeout', { before: 10, after: 20 })],
    }),
    resource('Webhook/events', {
      action: 'unknown',
      id: null,
      source: { file: 'manifests/webhooks.yaml', line: 27 },
      reason: 'Its create was sent on 2025-01-02T03:04:05Z and never answered.',
      steps: [
        'If it exists: voxform import Webhook/events ID.',
        'If it does not: voxform state resolve Webhook/events --not-created.',
      ],
    }),
    resource('WorkspaceUser/anna', {
      action: 'adopt',
      id: '01JUSER0000000000000000001',
      source: { file: 'manifests/users.yaml', line: 1 },
      reason: 'A user with this e-mail address is in the workspace.',
      adopted: true,
    }),
    resource('WorkspaceUser/ben', {
      action: 'update',
      id: '01JUSER0000000000000000002',
      source: { file: 'manifests/users.yaml', line: 9 },
      reason: 'A user with this e-mail address is in the workspace.',
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
      reason: 'The workspace has no user with this e-mail address.',
      steps: ['In the dashboard, invite carla@example.com to the workspace.'],
    }),
  ],
  {
    guards: [
      { flag: '--allow-owner-change', message: 'WorkspaceUser/ben is an owner and would become admin' },
    ],
    warnings: [
      {
        address: 'Agent/support-line',
        message:
          'llm_config is sent whole; tts_config.emotion is no longer managed and the platform may reset it when it gets the new object',
      },
      { address: null, message: 'the state file is tracked by Git and no remote backend is configured' },
    ],
  },
);
