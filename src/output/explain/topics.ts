import type { KindSchema } from '../../manifests/kind-schema.ts';

export function topics(_kinds: Iterable<KindSchema>): { value: string; description: string }[] {
  return [];
}
