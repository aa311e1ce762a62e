import { kinds, lookups } from '../../kinds/index.ts';
import { explain, explanationText, topicsText } from '../../output/explain/explanation.ts';
import { findTopic, topicsOf } from '../../output/explain/topics.ts';
import { jsonText } from '../../output/json-text.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { usageError } from '../../problems/user-error.ts';
import { packageFiles, packageText } from '../../version.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

/** Describes a topic, or lists all topics if none is given. */
export async function explainTopic(
  { terminal }: Context,
  { topic, output }: JsonFlag & { readonly topic?: string },
): Promise<void> {
  const topics = topicsOf(kinds.values(), lookups.values());
  if (topic === undefined) {
    const list = topics.map(({ path, about, description }) => ({ path, about, description }));
    terminal.out(output === 'json' ? jsonText(list) : topicsText(topics, terminal.style));
    return;
  }
  const found = findTopic(topics, topic);
  if (!('topic' in found)) {
    throw usageError(`unknown topic ${topic}${found.suggestion}`, 'Run voxform explain to list all topics.');
  }
  const explanation = explain(found.topic, topics);
  terminal.out(output === 'json' ? jsonText(explanation) : explanationText(explanation, terminal.style));
}

const SUFFIX = '.schema.json';

/** Prints a JSON Schema. A kind can be given by its name in manifests or by the name of its schema. */
export async function schema({ terminal }: Context, { name }: { readonly name: string }): Promise<void> {
  const names = packageFiles('schemas')
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length));
  const found = names.find((each) => normalised(each) === normalised(name));
  if (found === undefined) {
    throw usageError(`unknown schema ${name}${didYouMean(name, names)}`, `Schemas: ${names.sort().join(', ')}.`);
  }
  terminal.out(packageText(`schemas/${found}${SUFFIX}`));
}

function normalised(name: string): string {
  return name.replaceAll('-', '').toLowerCase();
}
