import { z } from 'zod';
import { isRefName } from '../git/git-address.ts';
import { hostNames } from '../hosting/index.ts';
import { didYouMean } from '../problems/suggest.ts';
import { about } from '../values/described.ts';
import { lazy } from '../values/lazy.ts';
import { secretOrEnvForm } from './notify-schema.ts';

const placeholders = ['workspace', 'project'];

function checkPlaceholders(text: string, context: z.RefinementCtx): void {
  for (const [, name = ''] of text.matchAll(/\{([^{}]*)\}/g)) {
    if (placeholders.includes(name)) continue;
    const near = didYouMean(name, placeholders) || `; placeholders: ${placeholders.join(', ')}`;
    context.addIssue({ code: 'custom', message: `unknown placeholder {${name}}${near}` });
  }
}

const withExampleNames = (text: string): string => text.replaceAll(/\{(?:workspace|project)\}/g, 'x');

export const pullRequestsSchema = lazy(() =>
  z
    .strictObject({
      host: z.enum(hostNames).meta({
        description: 'Type of the code host. By default, it is derived from the URL of the remote.',
        examples: ['github'],
      }),
      api_url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).meta({
        description: 'URL of the API of the code host. By default, it is derived from the URL of the remote.',
        examples: ['https://github.example.com/api/v3'],
      }),
      repository: z
        .string()
        .min(1)
        .meta(
          about(
            'Repository on the code host. By default, it is derived from the URL of the remote origin.',
            'acme/voices',
          ),
        ),
      base: z
        .string()
        .refine(isRefName, { error: 'expected a branch name' })
        .meta({
          description:
            'Target branch of requests; default: the branch from which the manifests are fetched, or else the default branch of the repository.',
          examples: ['main'],
        }),
      branch: z
        .string()
        .superRefine(checkPlaceholders)
        .refine((text) => text.includes('{workspace}') && isRefName(withExampleNames(text)), {
          error: 'expected a branch name with {workspace} in it',
        })
        .meta({
          description:
            'Source branch of a request. It must contain {workspace}, and may contain {project}, the folder of the project. Default: voxform/drift/{workspace}.',
          examples: ['drift/{workspace}'],
        }),
      title: z
        .string()
        .min(1)
        .max(200)
        .superRefine(checkPlaceholders)
        .meta({
          description:
            'Title of a request. It may contain {workspace} and {project}. Default: Accept drift of {workspace}.',
          examples: ['Accept drift of {workspace}'],
        }),
      token: secretOrEnvForm().meta({
        description: 'Token for the API; default: { $secret: GITHUB_TOKEN } or { $secret: GITLAB_TOKEN }.',
        examples: [{ $secret: 'GITHUB_TOKEN' }],
      }),
    })
    .partial()
    .describe('Pull or merge requests that accept drift.'),
);

export type PullRequestSettings = z.infer<ReturnType<typeof pullRequestsSchema>>;
