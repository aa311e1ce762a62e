// The beginning of the program in the one-file executable, and of its second thread. Runs the chunks of the bundle from the assets of the
// executable, without writing them to disk.

const { getAsset, getAssetKeys, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

const assets = new Set(getAssetKeys());

/** The modules that are loaded or being loaded, by the name of their chunk. */
const modules = new Map();

/** @param {string} name */
function load(name) {
  const known = modules.get(name);
  if (known !== undefined) return known.exports;
  const cache = `${name}.cache`;
  const cachedData = assets.has(cache) ? new Uint8Array(getRawAsset(cache)) : undefined;
  const script = new Script(getAsset(name, 'utf8'), { filename: name, cachedData });
  const module = { exports: {}, script };
  modules.set(name, module);
  script.runInThisContext()(module.exports, requireFromChunk, module, name);
  return module.exports;
}

/** @param {string} name */
function requireFromChunk(name) {
  return name.startsWith('./') ? load(name.slice('./'.length)) : require(name);
}
