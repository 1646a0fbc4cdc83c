// Loaded before every entry point (`node --require`, or imported first). Written so that any Node ever made can
// parse it, because its whole purpose is to tell an old one what to do.
'use strict';

var fs = require('fs');
var path = require('path');

var needed = 24;
var version = process.version;
var remedy = 'Run it through npm (`npm start`), which brings its own, or install Node 24';
// npm skips the set-up that goes before a script when the user's `ignore-scripts` is on.
if (process.env.npm_lifecycle_event) remedy = 'Run `npm run setup`, which brings its own, or install Node 24';

if (Number(process.versions.node.split('.')[0]) < needed) {
  stop('Reveille needs Node ' + needed + ' or newer; this is ' + version + '. ' + remedy + '.');
}

if (!fs.existsSync(path.join(__dirname, '..', 'node_modules'))) {
  stop('Reveille is not set up yet: run `npm run setup` first.');
}

function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}
