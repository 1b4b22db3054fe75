CREATE TABLE "chat_messages" (
	"id" text PRIMARY KEY NOT NULL,
	"chat_id" text NOT NULL,
	"parent_id" text,
	"text" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "chats" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"owner_id" text NOT NULL,
	"title" text NOT NULL,
	"is_pinned" boolean NOT NULL,
	"folder" text,
	"current_message_id" text,
	"model" text,
	"knowledge_base_ids" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "responses" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "responses" ADD COLUMN "answer_text" text;--> statement-breakpoint
ALTER TABLE "responses" ADD COLUMN "ended_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "chat_messages" ADD CONSTRAINT "chat_messages_chat_id_chats_id_fk" FOREIGN KEY ("chat_id") REFERENCES "public"."chats"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_messages_by_chat" ON "chat_messages" USING btree ("chat_id","id");--> statement-breakpoint
CREATE INDEX "chats_by_owner" ON "chats" USING btree ("organization_id","owner_id","is_pinned","updated_at","id");--> statement-breakpoint
CREATE INDEX "chats_by_update" ON "chats" USING btree ("organization_id","updated_at");