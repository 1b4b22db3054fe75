CREATE TABLE "conversation_items" (
	"conversation_id" text NOT NULL,
	"position" integer NOT NULL,
	"item_id" text NOT NULL,
	"item" text NOT NULL,
	CONSTRAINT "conversation_items_conversation_id_position_pk" PRIMARY KEY("conversation_id","position"),
	CONSTRAINT "conversation_items_by_id" UNIQUE("conversation_id","item_id")
);
--> statement-breakpoint
CREATE TABLE "conversations" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"metadata" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "conversation_items" ADD CONSTRAINT "conversation_items_conversation_id_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "conversations_by_use" ON "conversations" USING btree ("used_at");--> statement-breakpoint
CREATE INDEX "conversations_by_organization" ON "conversations" USING btree ("organization_id");