import { type Finding, findingOf } from '../manifests/finding.ts';
import type { Inputs } from '../manifests/inputs.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';

/** What a workspace takes from secrets and variables that are not set. */
export function settingFindings(
  { file }: ProjectConfig,
  { name, apiKey, unset = [] }: WorkspaceConfig,
  inputs: Inputs,
): Finding[] {
  if (file === undefined) return [];
  return unset.map(({ setting, variable }): Finding => {
    const read = setting === 'api_key' ? inputs.secret(apiKey.name) : undefined;
    const problem =
      read !== undefined && 'code' in read
        ? read
        : { code: 'missing-variable', message: `the environment variable ${variable} is not set` };
    return findingOf({ ...problem, path: ['workspaces', name, setting], at: 'value' }, file);
  });
}

/** What webhooks need that is not set. A run does without such a webhook, so a plan does not ask for it. */
export function webhookFindings({ file, webhooks }: ProjectConfig, inputs: Inputs): Finding[] {
  if (file === undefined) return [];
  return webhooks.flatMap(({ url, secret_header: header }, index) => {
    const used = [
      { form: url, at: ['url'] },
      { form: header?.value, at: ['secret_header', 'value'] },
    ];
    return used.flatMap(({ form, at }): Finding[] => {
      if (form === undefined || typeof form === 'string') return [];
      const read = inputs.named(form);
      return 'code' in read
        ? [findingOf({ ...read, path: ['notify', index, ...at], at: 'value' }, file)]
        : [];
    });
  });
}
