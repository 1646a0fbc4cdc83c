#!/usr/bin/env node
// The way in of the installed package. Written so that any Node ever made can parse it: what follows could not tell an
// old one what to do.
'use strict';

var needed = 24;

if (Number(process.versions.node.split('.')[0]) < needed) {
  console.error(
    'Reveille needs Node ' +
      needed +
      ' or newer, and this is ' +
      process.version +
      ': install it from https://nodejs.org.',
  );
  process.exit(1);
}

require('./start.cjs');
