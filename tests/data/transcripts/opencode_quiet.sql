PRAGMA journal_mode=WAL;
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_207b8c6e6001LTtqggfZENnO7p','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425879783,1795425898776,'{"role":"user","time":{"created":1795425879783},"agent":"build","model":{"providerID":"scripted","modelID":"scripted"},"summary":{"diffs":[{"file":"__pycache__/cart.cpython-311.pyc","patch":"","additions":0,"deletions":0,"status":"added"},{"file":"__pycache__/test_cart.cpython-311.pyc","patch":"","additions":0,"deletions":0,"status":"added"},{"file":"cart.py","patch":"Index: cart.py\n===================================================================\n--- cart.py\t\n+++ cart.py\t\n@@ -1,2 +1,2 @@\n def total(prices):\n-    return 0\n+    return sum(prices)\n","additions":1,"deletions":1,"status":"modified"}]}}');
INSERT INTO "message" VALUES('msg_207b8d3ee00116sF2gA30EflHG','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425883118,1795425890478,'{"parentID":"msg_207b8c6e6001LTtqggfZENnO7p","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ann/shop","root":"/home/ann/shop"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795425883118,"completed":1795425890475},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_207b8f0c600164grubrg1X5y0m','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425890502,1795425894030,'{"parentID":"msg_207b8c6e6001LTtqggfZENnO7p","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ann/shop","root":"/home/ann/shop"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795425890502,"completed":1795425894020},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_207b8fea9001wB3Ujeho6AU0LD','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425894057,1795425896418,'{"parentID":"msg_207b8c6e6001LTtqggfZENnO7p","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ann/shop","root":"/home/ann/shop"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795425894057,"completed":1795425896417},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_207b907fa001xe51urV2CmIYQ5','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425896442,1795425898190,'{"parentID":"msg_207b8c6e6001LTtqggfZENnO7p","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ann/shop","root":"/home/ann/shop"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795425896442,"completed":1795425898189},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_207b90ed4001iHqXYLZE6lEGOU','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425898196,1795425898959,'{"parentID":"msg_207b8c6e6001LTtqggfZENnO7p","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/ann/shop","root":"/home/ann/shop"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795425898196,"completed":1795425898958},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_207b8c6ef001lY0LTcWdhbkMX6','msg_207b8c6e6001LTtqggfZENnO7p','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425883066,1795425883069,'{"type":"text","text":"\"Make the tests of the cart pass.\""}');
INSERT INTO "part" VALUES('prt_207b8e6d6001C8ajanGt0i1Riu','msg_207b8d3ee00116sF2gA30EflHG','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425887958,1795425887970,'{"snapshot":"936a6749b11d83f79de400709e8ede8e5907c349","type":"step-start"}');
INSERT INTO "part" VALUES('prt_207b8e6fc00186yG5TCOOeX5ov','msg_207b8d3ee00116sF2gA30EflHG','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425887996,1795425888312,'{"type":"text","text":"I look at the cart first.","time":{"start":1795425887996,"end":1795425888309}}');
INSERT INTO "part" VALUES('prt_207b8e720001nr5wnYAUP6JJpb','msg_207b8d3ee00116sF2gA30EflHG','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425888032,1795425889844,'{"type":"tool","tool":"bash","callID":"call_00000134","state":{"status":"completed","input":{"command":"cat cart.py"},"output":"def total(prices):\n    return 0\n","metadata":{"output":"def total(prices):\n    return 0\n","exit":0,"truncated":false},"title":"cat cart.py","time":{"start":1795425888212,"end":1795425889724}}}');
INSERT INTO "part" VALUES('prt_207b8ef17001rJzUEAwebOun1l','msg_207b8d3ee00116sF2gA30EflHG','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425890071,1795425890074,'{"reason":"tool-calls","snapshot":"936a6749b11d83f79de400709e8ede8e5907c349","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_207b8f55800107P1K0uZHidnBZ','msg_207b8f0c600164grubrg1X5y0m','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425891672,1795425891707,'{"snapshot":"936a6749b11d83f79de400709e8ede8e5907c349","type":"step-start"}');
INSERT INTO "part" VALUES('prt_207b8f58b001iDhUv536OhmBYo','msg_207b8f0c600164grubrg1X5y0m','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425891724,1795425891931,'{"type":"text","text":"Now I run the tests.","time":{"start":1795425891723,"end":1795425891930}}');
INSERT INTO "part" VALUES('prt_207b8f5bd0014yJ5kfiCh5ix8V','msg_207b8f0c600164grubrg1X5y0m','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425891773,1795425892538,'{"type":"tool","tool":"bash","callID":"call_00000136","state":{"status":"completed","input":{"command":"python3 -m unittest -q test_cart"},"output":"======================================================================\nFAIL: test_total (test_cart.Cart.test_total)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/home/ann/shop/test_cart.py\", line 8, in test_total\n    self.assertEqual(total([4, 5]), 9)\nAssertionError: 0 != 9\n\n----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n","metadata":{"output":"======================================================================\nFAIL: test_total (test_cart.Cart.test_total)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/home/ann/shop/test_cart.py\", line 8, in test_total\n    self.assertEqual(total([4, 5]), 9)\nAssertionError: 0 != 9\n\n----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n","exit":1,"truncated":false},"title":"python3 -m unittest -q test_cart","time":{"start":1795425891883,"end":1795425892515}}}');
INSERT INTO "part" VALUES('prt_207b8fc24001X2MAaHwvXEYHYQ','msg_207b8f0c600164grubrg1X5y0m','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425893413,1795425893419,'{"reason":"tool-calls","snapshot":"cbe2e75c5dac3aea1e8d02c9dae58ebfe382d55c","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_207b8fe5a001DarB2eNZNwGl7Y','msg_207b8f0c600164grubrg1X5y0m','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425893978,1795425893996,'{"type":"patch","hash":"936a6749b11d83f79de400709e8ede8e5907c349","files":["/home/ann/shop/__pycache__/cart.cpython-311.pyc","/home/ann/shop/__pycache__/test_cart.cpython-311.pyc"]}');
INSERT INTO "part" VALUES('prt_207b9021a001bovqYhTEfQyBEu','msg_207b8fea9001wB3Ujeho6AU0LD','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425894938,1795425894942,'{"snapshot":"cbe2e75c5dac3aea1e8d02c9dae58ebfe382d55c","type":"step-start"}');
INSERT INTO "part" VALUES('prt_207b90220001EP5F2iEAavAnzP','msg_207b8fea9001wB3Ujeho6AU0LD','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425894944,1795425895055,'{"type":"text","text":"The sum is wrong, so I mend it.","time":{"start":1795425894944,"end":1795425895053}}');
INSERT INTO "part" VALUES('prt_207b902480014RtsmyWfTu1oo1','msg_207b8fea9001wB3Ujeho6AU0LD','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425894989,1795425895140,'{"type":"tool","tool":"bash","callID":"call_00000138","state":{"status":"completed","input":{"command":"sed -i ''s/return 0/return sum(prices)/'' cart.py"},"output":"(no output)","metadata":{"output":"(no output)","exit":0,"truncated":false},"title":"sed -i ''s/return 0/return sum(prices)/'' cart.py","time":{"start":1795425895015,"end":1795425895138}}}');
INSERT INTO "part" VALUES('prt_207b906b2001dq3r0xXbdaYsbv','msg_207b8fea9001wB3Ujeho6AU0LD','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425896114,1795425896115,'{"reason":"tool-calls","snapshot":"56cb7e1dce19ea9fd5da7b355cb54eeb9a006656","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_207b907d7001lnW7ajf2QWKd6U','msg_207b8fea9001wB3Ujeho6AU0LD','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425896407,1795425896408,'{"type":"patch","hash":"cbe2e75c5dac3aea1e8d02c9dae58ebfe382d55c","files":["/home/ann/shop/cart.py"]}');
INSERT INTO "part" VALUES('prt_207b909e1001AR9lhRKsilj8K8','msg_207b907fa001xe51urV2CmIYQ5','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425896929,1795425896930,'{"snapshot":"56cb7e1dce19ea9fd5da7b355cb54eeb9a006656","type":"step-start"}');
INSERT INTO "part" VALUES('prt_207b909e3001qBowTc3xT167rA','msg_207b907fa001xe51urV2CmIYQ5','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425896931,1795425896949,'{"type":"text","text":"Now they should pass.","time":{"start":1795425896931,"end":1795425896948}}');
INSERT INTO "part" VALUES('prt_207b909e6001cUOPaYLZ1c6jBt','msg_207b907fa001xe51urV2CmIYQ5','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425896934,1795425897179,'{"type":"tool","tool":"bash","callID":"call_00000140","state":{"status":"completed","input":{"command":"python3 -m unittest -q test_cart"},"output":"----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nOK\n","metadata":{"output":"----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nOK\n","exit":0,"truncated":false},"title":"python3 -m unittest -q test_cart","time":{"start":1795425896941,"end":1795425897178}}}');
INSERT INTO "part" VALUES('prt_207b90d4b001ry5iR276oAHnuf','msg_207b907fa001xe51urV2CmIYQ5','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425897809,1795425897811,'{"reason":"tool-calls","snapshot":"4b8cfd43dc6146f1059dc288970c55d67444e31c","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_207b90eb9001g8mwa3UbxS2mOt','msg_207b907fa001xe51urV2CmIYQ5','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425898183,1795425898184,'{"type":"patch","hash":"56cb7e1dce19ea9fd5da7b355cb54eeb9a006656","files":["/home/ann/shop/__pycache__/cart.cpython-311.pyc"]}');
INSERT INTO "part" VALUES('prt_207b91073001FQWYHbj89ajjGI','msg_207b90ed4001iHqXYLZE6lEGOU','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425898611,1795425898613,'{"snapshot":"4b8cfd43dc6146f1059dc288970c55d67444e31c","type":"step-start"}');
INSERT INTO "part" VALUES('prt_207b9108300138mLZPDzZxnGtT','msg_207b90ed4001iHqXYLZE6lEGOU','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425898627,1795425898644,'{"type":"text","text":"I''ve fixed the cart, and all tests pass now.","time":{"start":1795425898627,"end":1795425898642}}');
INSERT INTO "part" VALUES('prt_207b9115a00154xXYy6ADcOwZ4','msg_207b90ed4001iHqXYLZE6lEGOU','ses_df8473a71ffeTqx7AVXHJBlPK5',1795425898843,1795425898844,'{"reason":"stop","snapshot":"4b8cfd43dc6146f1059dc288970c55d67444e31c","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
CREATE TABLE `project` (
          `id` text PRIMARY KEY,
          `worktree` text NOT NULL,
          `vcs` text,
          `name` text,
          `icon_url` text,
          `icon_url_override` text,
          `icon_color` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_initialized` integer,
          `sandboxes` text NOT NULL,
          `commands` text
        );
INSERT INTO "project" VALUES('0167a137c4c882863eb3a83cfc2cdaff06393dc0','/home/ann/shop','git',NULL,NULL,NULL,NULL,1795425876777,1795425876777,NULL,'[]',NULL);
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_df8473a71ffeTqx7AVXHJBlPK5','0167a137c4c882863eb3a83cfc2cdaff06393dc0',NULL,NULL,'playful-knight','/home/ann/shop','','ok','1.18.33',NULL,0,0,0,NULL,NULL,0.0,500,50,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"scripted","providerID":"scripted","variant":"default"}',1795425879438,1795425898994,NULL,NULL);
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
