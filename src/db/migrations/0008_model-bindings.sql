CREATE TABLE "model_bindings" (
	"model_id" text PRIMARY KEY NOT NULL,
	"model_name" text NOT NULL,
	"chosen_by" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "model_bindings_state" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"initial_pull_done" boolean DEFAULT false NOT NULL
);
