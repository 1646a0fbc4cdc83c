'use strict';

void import('../lib/cli.js');
