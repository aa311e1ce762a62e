import { type DocumentPath, follow } from '../../manifests/finding.ts';
import { decides, isForm, type Layer, type SpecSources } from '../../manifests/layers.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';

/** The layer that a value comes from, with its place there. */
export interface Owned {
  readonly layer: Layer;
  /** Relative to the layer's root. */
  readonly path: DocumentPath;
  /** As written; undefined if it is not written. */
  readonly raw: Json | undefined;
  /** True in a merge patch, where null removes a field. */
  readonly isPatch: boolean;
}

/**
 * The layer that determines a leaf: the workspace's patch, else the manifest, else the defaults. A new leaf belongs to the manifest.
 * @throws CannotEdit if the layer applies to several resources or has the leaf inside a value form.
 */
export function ownerOf({ layers, home }: SpecSources, leaf: LeafPath): Owned {
  const path = leaf.split('.');
  const layer = layers.find(({ value }) => decides(value, path)) ?? home;
  const at = layers.indexOf(layer);
  const isPatch = at < layers.indexOf(home);
  if (at > layers.indexOf(home)) {
    throw new CannotEdit(
      `it comes from ${layer.base.join('.')} in ${layer.file}, shared by all resources of the kind; to change this one, set it in its manifest`,
    );
  }
  const { depth, value } = follow(layer.value, path);
  if (depth === path.length) return { layer, path, raw: value as Json, isPatch };
  if (!isForm(value)) return { layer, path, raw: undefined, isPatch };
  if (!Object.hasOwn(value, '$literal')) throw new CannotEdit(formReason(value));
  const inside = [...path.slice(0, depth), '$literal', ...path.slice(depth)];
  const literal = follow(layer.value, inside);
  return {
    layer,
    path: inside,
    raw: literal.depth === inside.length ? (literal.value as Json) : undefined,
    isPatch: false,
  };
}

/** Why the value of a form cannot be changed at the form. */
export function formReason(form: { readonly [key: string]: unknown }): string {
  const name = Object.keys(form).find((key) => key.startsWith('$')) ?? '';
  const argument = form[name];
  switch (name) {
    case '$var':
      return `it comes from the variable ${String(argument)} of the workspace, which other values may share; change it there`;
    case '$env':
      return `it comes from the environment variable ${String(argument)}`;
    case '$secret':
      return `it comes from the secret ${String(argument)}`;
    case '$join':
      return 'it is joined from parts ($join)';
    default:
      return `it is written as ${name}`;
  }
}
