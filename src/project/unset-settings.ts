import { type Finding, findingOf } from '../manifests/finding.ts';
import type { Inputs } from '../manifests/inputs.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';

/** Secrets and variables of a workspace's settings that are not set. */
export function settingFindings(
  { file }: ProjectConfig,
  { name, apiKey, secrets, unset = [] }: WorkspaceConfig,
): Finding[] {
  if (file === undefined) return [];
  const finding = (setting: string, problem: Pick<Finding, 'code' | 'message'>): Finding =>
    findingOf({ ...problem, path: ['workspaces', name, setting], at: 'value' }, file);
  const variables = unset.map(({ setting, variable }) =>
    finding(setting, {
      code: 'missing-variable',
      message: `the environment variable ${variable} is not set`,
    }),
  );
  const problem = apiKey.isSet || apiKey.name === '' ? undefined : secrets.problem(apiKey.name);
  return problem === undefined ? variables : [...variables, finding('api_key', problem)];
}

/** Unset secrets and variables of webhooks. A run works without such a webhook, so a plan does not require them. */
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
