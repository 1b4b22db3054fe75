CREATE TABLE "chat_presets" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"model" text,
	"instructions" text,
	"knowledge_base_ids" jsonb NOT NULL,
	"tools" jsonb NOT NULL,
	"parameters" jsonb NOT NULL,
	"is_published" boolean NOT NULL,
	"is_default" boolean NOT NULL,
	"position" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "prompt_versions" (
	"id" text PRIMARY KEY NOT NULL,
	"prompt_id" text NOT NULL,
	"version" integer NOT NULL,
	"text" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "prompts" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"owner_id" text NOT NULL,
	"name" text NOT NULL,
	"is_shared" boolean NOT NULL,
	"latest_version" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chats" ADD COLUMN "preset_id" text;--> statement-breakpoint
ALTER TABLE "prompt_versions" ADD CONSTRAINT "prompt_versions_prompt_id_prompts_id_fk" FOREIGN KEY ("prompt_id") REFERENCES "public"."prompts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_presets_by_position" ON "chat_presets" USING btree ("organization_id","position","id");--> statement-breakpoint
CREATE UNIQUE INDEX "chat_presets_default" ON "chat_presets" USING btree ("organization_id") WHERE "chat_presets"."is_default";--> statement-breakpoint
CREATE UNIQUE INDEX "prompt_versions_by_number" ON "prompt_versions" USING btree ("prompt_id","version");--> statement-breakpoint
CREATE INDEX "prompts_by_organization" ON "prompts" USING btree ("organization_id","id");