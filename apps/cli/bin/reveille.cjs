#!/usr/bin/env node
// The way in for people: says what to do when Node is too old, which src/main.ts could not (an old Node does
// not read TypeScript at all), then becomes that program.
'use strict';

require('../../../scripts/require-node.cjs');

var main = require('path').join(__dirname, '../src/main.ts');
process.execve(
  process.execPath,
  [process.execPath, '--conditions=source', main].concat(process.argv.slice(2)),
);
